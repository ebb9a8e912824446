"""Variants A: a low-level `mcp` Server that does nothing but echo, over SSE, as the SDK's documentation would have it.

Without a file it echoes the message it was sent. With one it answers the JSON in it, as text and as structured content:
the same bytes as the product's answer, without any of the work.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.sse import SseServerTransport
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from tests.load.children import end_with_parent

SCHEMA = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}
Context = ServerRequestContext[Any, Any]


def app(answer: str | None) -> Starlette:
    structured = json.loads(answer) if answer is not None else None

    async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="echo", input_schema=SCHEMA)])

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if answer is not None:
            return types.CallToolResult(content=[types.TextContent(text=answer)], structured_content=structured)
        message = (params.arguments or {})["message"]
        return types.CallToolResult(content=[types.TextContent(text=message)])

    server: Server[Any] = Server("echo", on_list_tools=list_tools, on_call_tool=call_tool)
    sse = SseServerTransport("/messages/")

    async def handle_sse(request: Request) -> Response:
        async with sse.connect_sse(request.scope, request.receive, request._send) as (read, write):
            await server.run(read, write, server.create_initialization_options())
        return Response()

    return Starlette(routes=[Route("/sse", handle_sse), Mount("/messages/", app=sse.handle_post_message)])


if __name__ == "__main__":
    end_with_parent()
    port, *file = sys.argv[1:]
    serving = app(Path(file[0]).read_text("utf-8") if file else None)
    # What comes with `pip install mcp`, whatever else is installed here.
    uvicorn.run(serving, port=int(port), log_level="warning", http="h11", loop="asyncio")
