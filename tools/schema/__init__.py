"""What arguments and results look like, and whether they do."""
