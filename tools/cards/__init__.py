"""MCP Apps: what hosts that can show it draw of a result. Nothing else in the house knows of it but the wiring."""
