"""Deadlines, circuit breakers, rate limits, bounded mappings and supervised tasks, usable without a conversation."""
