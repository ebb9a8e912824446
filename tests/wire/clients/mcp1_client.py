"""The official Python client of the 1.x line, over one transport after the other; prints what it saw, each as a line of JSON.

Run by a Python that has it: `python mcp1_client.py TARGETS`, which is a list in JSON of
`["sse", URL]`, `["http", URL]`, `["ws", URL]`, `["stdio", COMMAND, …]`.

What there is to read it lists, and reads what READS says: `{"uris": [address, …], "prompts": {name: arguments, …}}`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.client.websocket import websocket_client
from pydantic import AnyUrl

USER = {"X-User-ID": "demo-user-1"}


def connect(kind: str, target: list[str]):
    if kind == "sse":
        return sse_client(target[0], headers=USER)
    if kind == "http":
        return streamablehttp_client(target[0], headers=USER)
    if kind == "ws":
        return websocket_client(target[0])
    return stdio_client(StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ)))


async def reading(session: ClientSession, asked: dict[str, object]) -> dict[str, object]:
    listed = [
        [str(each.uri) for each in (await session.list_resources()).resources],
        [each.uriTemplate for each in (await session.list_resource_templates()).resourceTemplates],
        [each.name for each in (await session.list_prompts()).prompts] if asked["prompts"] else [],
    ]
    read = {uri: (await session.read_resource(AnyUrl(uri))).contents for uri in asked["uris"]}
    made = {name: (await session.get_prompt(name, given)).messages for name, given in asked["prompts"].items()}
    return {
        "listed": listed,
        "read": {uri: [[str(each.uri), each.mimeType, each.text] for each in contents] for uri, contents in read.items()},
        "made": {name: [each.role for each in messages] for name, messages in made.items()},
    }


async def main(kind: str, target: list[str]) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        read, write, *_ = await stack.enter_async_context(connect(kind, target))
        session = await stack.enter_async_context(ClientSession(read, write))
        agreed = await session.initialize()
        tools = (await session.list_tools()).tools
        # The client checks each result against the tool's output schema and raises when it does not fit.
        found = await session.call_tool("search_manga_catalog", {"query": "one piece", "max_results": 1})
        stock = await session.call_tool("check_inventory", {})
        wrong = await session.call_tool("search_manga_catalog", {"query": ""})
        order = await session.call_tool(
            "lookup_order", {"order_id": "MNG-DEMO1001"}, meta={"com.mangaassist/userId": "demo-user-1"}
        )
        try:
            await session.call_tool("search_manga", {})
            unknown = None
        except McpError as error:
            unknown = {"code": error.error.code, "data": error.error.data}
        return {
            "reading": await reading(session, json.loads(os.environ["READS"])),
            "version": agreed.protocolVersion,
            "tools": [tool.name for tool in tools],
            "found": found.structuredContent,
            "stock": stock.structuredContent,
            "wrong": [wrong.isError, wrong.structuredContent],
            "order": order.structuredContent,
            "unknown": unknown,
        }


if __name__ == "__main__":
    for kind, *target in json.loads(sys.argv[1]):
        print(json.dumps(asyncio.run(main(kind, target))))
