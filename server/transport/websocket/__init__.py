"""/ws: MCP over WebSocket, subprotocol `mcp`, as the clients of the SDKs' 1.x lines speak it.

MCP's specification has no such transport."""
