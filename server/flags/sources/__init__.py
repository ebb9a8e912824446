"""Where the flags document is: one module a kind, imported when it is chosen."""
