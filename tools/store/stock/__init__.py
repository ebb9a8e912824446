"""Stock as tools read it, and as it was last known."""
