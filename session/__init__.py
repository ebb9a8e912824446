"""State of conversations: turns, deadlines, session memory, result cache, rate limits, Redis clients, user profiles."""
