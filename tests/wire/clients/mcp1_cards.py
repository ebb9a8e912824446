"""The official Python client of the 1.x line as a host that shows cards: prints what it is told of them, as JSON.

Run by a Python that has it: `python mcp1_cards.py sse URL`, `… http URL`. It knows nothing of extensions: a host that is built
on it adds them to what it declares.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack

from mcp import ClientSession, types
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl

UI = {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}


async def main(kind: str, url: str) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        connected = sse_client(url) if kind == "sse" else streamablehttp_client(url)
        read, write, *_ = await stack.enter_async_context(connected)
        session = await stack.enter_async_context(ClientSession(read, write))
        hello = types.InitializeRequestParams(
            protocolVersion=types.LATEST_PROTOCOL_VERSION,
            capabilities=types.ClientCapabilities.model_validate({"extensions": UI}),
            clientInfo=types.Implementation(name="host", version="1"),
        )
        request = types.ClientRequest(types.InitializeRequest(params=hello))
        await session.send_request(request, types.InitializeResult)
        await session.send_notification(types.ClientNotification(types.InitializedNotification()))
        tools = {each.name: each.meta for each in (await session.list_tools()).tools if each.meta}
        resources = {str(each.uri): each.meta for each in (await session.list_resources()).resources if each.meta}
        contents = [(await session.read_resource(AnyUrl(uri))).contents[0] for uri in resources]
        read_pages = {str(each.uri): [each.mimeType, each.text[:15], each.meta] for each in contents}
        stock = await session.call_tool("check_inventory", {"title_ids": ["manga-001001"]})
        return {"tools": tools, "resources": resources, "read": read_pages, "beside": stock.meta}


print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
