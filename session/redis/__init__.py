"""Clients of Redis and Valkey behind one protocol: a single connection, a cluster, and a server started by this process."""
