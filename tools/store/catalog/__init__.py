"""Titles as tools read them: by id, by name, and the popular ones that outlive the catalogue."""
