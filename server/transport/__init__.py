"""The ways in: MCP over HTTP and over stdio. From bytes to a call:

http/app            the routes; middleware checks Host, Origin, size and token, and takes a slot
websocket/connection, http/connection    frames or requests to messages
http/streams        one stream of messages, over SSE or a WebSocket: admitted, queued
http/direct_calls   tools/call of a stream, taken at once by `take_directly`; all else goes through the SDK's session
http/plain_calls    tools/call of Streamable HTTP without a session; http/streamable_sessions those with one
mcp, request        the message to a `Call`, the outcome to a result; `server.pipeline` runs it
"""
