"""Export of traces to a collector (OTLP over HTTP), if OTEL_EXPORTER_OTLP_ENDPOINT or _TRACES_ENDPOINT is set."""
