"""Stated preferences: read like a shopper's words, and weighed against each other on the same matter."""
