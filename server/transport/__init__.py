"""The transports: MCP over HTTP, WebSocket and stdio. The way from bytes to a call, by module:

http/app, http/middleware    routes; checks of Host, Origin, size and bearer token; the request waits its turn
websocket/connection, http/connection    frames or requests to messages
http/streams        one stream of messages, over SSE or a WebSocket: admitted, queued
http/direct_calls   plain tools/call and tools/list past the SDK: of streams, and of Streamable HTTP without a session
http/streamable_sessions    Streamable HTTP with a session, served by the SDK
mcp, request        the message to a `Call`, the outcome to a result; `server.pipeline` runs it
"""
