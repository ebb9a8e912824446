"""What `python -m server` can be told to do."""
