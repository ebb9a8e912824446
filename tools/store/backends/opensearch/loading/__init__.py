"""A catalogue into an index, and the index into service."""
