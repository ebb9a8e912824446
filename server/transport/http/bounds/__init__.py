"""What one client may take of what all of them share."""
