"""Logic of remember_preference and forget_preference: which preferences a statement replaces, and which are meant."""
