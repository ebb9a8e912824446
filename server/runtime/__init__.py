"""The process: its lifecycle, its health, and its background tasks."""
