"""The transports: MCP over HTTP, WebSocket and stdio. These modules turn bytes into a `Call`, in this order:

http/app, http/middleware    routes; checks of Host, Origin, size and bearer token; fair queueing
http/connection, websocket/connection    HTTP requests and WebSocket frames
http/streams        the messages of one SSE stream or WebSocket: admission and queue
http/direct_calls   the fast path for plain tools/call and tools/list, which bypasses the SDK
http/streamable     Streamable HTTP, whose sessions the SDK serves
mcp, request        the `Call` for a message, and the result for its outcome; `server.pipeline` runs the call"""
