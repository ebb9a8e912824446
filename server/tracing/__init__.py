"""Traces for a collector (OTLP over HTTP): a room of its own, opened where OTEL_EXPORTER_OTLP_ENDPOINT names one.

The line in `server/wiring.py` that opens it is all that knows of it.
"""
