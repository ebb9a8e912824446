"""The edge: settings, wiring, app, MCP handlers, the call pipeline and its stages, CLI."""
