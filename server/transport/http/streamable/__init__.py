"""/mcp: Streamable HTTP, as far as it is not left to the SDK."""
