"""What carries remember_preference and forget_preference: what a new statement replaces, and which one is meant."""
