"""MCP Apps: HTML pages in which hosts render tool results. The server imports this package only in its wiring."""
