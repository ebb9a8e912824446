"""Redis and what speaks its protocol: one connection, a cluster of them, or a server of one's own, behind one port."""
