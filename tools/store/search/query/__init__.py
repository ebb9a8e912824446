"""Parses free text to a query: its subject, names, themes, moods and ordering."""
