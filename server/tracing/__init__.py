"""Traces for a collector (OTLP over HTTP), where OTEL_EXPORTER_OTLP_ENDPOINT names one. Opened by one line of the wiring."""
