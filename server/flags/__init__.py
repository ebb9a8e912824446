"""Which tools are on, and for whom: one document, from a file, an address or a table, followed while the server runs."""
