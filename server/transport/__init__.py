"""The ways in: MCP over HTTP and over stdio."""
