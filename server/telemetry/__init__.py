"""Telemetry: each finished call is an event, which small sinks log, count or export."""
