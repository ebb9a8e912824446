"""The state of conversations: turn and deadline, memory, result cache, limits, key-value backends, long-term profile."""
