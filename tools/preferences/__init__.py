"""Code shared by remember_preference and forget_preference."""
