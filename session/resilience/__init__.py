"""Deadlines, circuit breakers, rate limits, bounded mappings and supervised tasks, independent of conversations."""
