"""Telemetry: each finished call is an event, which sinks log, count or export."""
