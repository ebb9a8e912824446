"""What several stages of a call's way have in common."""
