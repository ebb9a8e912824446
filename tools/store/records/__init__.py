"""Titles, volumes and orders as JSON, in files and in every backend. Shape and ranges follow
from `tools.store.models`; no backend has a format of its own."""
