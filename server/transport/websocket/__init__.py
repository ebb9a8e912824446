"""MCP over WebSocket at `/ws`, with the subprotocol `mcp` that clients of the SDKs' 1.x lines use. The MCP specification
does not define this transport."""
