"""Titles as keys, terms and texts to search by."""
