"""MCP Apps: pages that hosts draw results with. Only the wiring imports this package."""
