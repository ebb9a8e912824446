"""Server-sent events: the streams that clients open, and what they post to them (MCP 2024-11-05, HTTP with SSE)."""
