"""Ports behind their breaker, bulkhead and retries: all that a tool ever reaches."""
