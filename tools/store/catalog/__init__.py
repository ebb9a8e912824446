"""Titles for tools: by id, by name, and the popular ones as the fallback while the catalogue is down."""
