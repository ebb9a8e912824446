"""Characters made comparable, and cut into terms."""
