"""The process: its life, its health, and its background tasks."""
