"""Where a bundle lies: one module a kind, imported when it is chosen."""
