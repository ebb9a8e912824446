"""What a conversation remembers: turn and deadline, memory, result cache, limits, key-value backends, long-term profile."""
