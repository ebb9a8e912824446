"""Telemetry as data: one event a call, and small sinks that show it somewhere."""
