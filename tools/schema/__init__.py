"""Schemas of arguments and results, and their validation."""
