"""The commands of `python -m server`."""
