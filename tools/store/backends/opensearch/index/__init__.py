"""What an index holds: its definition, its documents, its numbers."""
