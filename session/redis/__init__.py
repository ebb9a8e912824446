"""Clients of Redis and Valkey: one connection, a cluster, or a server that this process starts, all behind one port."""
