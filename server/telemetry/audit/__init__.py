"""Who was shown which order."""
