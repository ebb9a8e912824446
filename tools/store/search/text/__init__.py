"""Normalises characters, and cuts texts into terms."""
