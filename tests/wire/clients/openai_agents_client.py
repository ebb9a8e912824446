"""The OpenAI Agents SDK, over one transport after the other and with its defaults; prints what it saw, each as a line of
JSON. No model is needed for that.

Run by a Python that has it: `python openai_agents_client.py TARGETS`, which is a list in JSON of
`["sse", URL]`, `["http", URL]`, `["stdio", COMMAND, …]`.

What there is to read it lists, and reads what READS says: `{"uris": [address, …], "prompts": {name: arguments, …}}`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import uuid

from agents.mcp import MCPServer, MCPServerSse, MCPServerStdio, MCPServerStreamableHttp
from mcp.shared.exceptions import MCPError

USER = {"X-User-ID": "demo-user-1"}
START_SECONDS = 30
"""Its timeout of 5 s includes the start of a process, which a busy machine may need longer for."""


def connect(kind: str, target: list[str]) -> MCPServer:
    if kind == "sse":
        return MCPServerSse({"url": target[0], "headers": USER})
    if kind == "http":
        return MCPServerStreamableHttp({"url": target[0], "headers": USER})
    program = {"command": target[0], "args": target[1:], "env": dict(os.environ)}
    return MCPServerStdio(program, client_session_timeout_seconds=START_SECONDS)


async def reading(server: MCPServer, asked: dict[str, object]) -> dict[str, object]:
    listed = [
        [each.uri for each in (await server.list_resources()).resources],
        [each.uri_template for each in (await server.list_resource_templates()).resource_templates],
        [each.name for each in (await server.list_prompts()).prompts] if asked["prompts"] else [],
    ]
    read = {uri: (await server.read_resource(uri)).contents for uri in asked["uris"]}
    made = {name: (await server.get_prompt(name, given)).messages for name, given in asked["prompts"].items()}
    return {
        "listed": listed,
        "read": {uri: [[each.uri, each.mime_type, each.text] for each in contents] for uri, contents in read.items()},
        "made": {name: [each.role for each in messages] for name, messages in made.items()},
    }


async def main(kind: str, target: list[str]) -> dict[str, object]:
    async with connect(kind, target) as server:
        tools = await server.list_tools()

        async def call(tool: str, arguments: dict[str, object], meta: dict[str, object] | None = None) -> dict[str, object]:
            result = await server.call_tool(tool, arguments, meta=meta)
            return result.model_dump(mode="json", by_alias=True)

        # Over Streamable HTTP it speaks the era without sessions, so each call names its own.
        session = {"com.mangaassist/sessionId": f"openai-agents-{uuid.uuid4().hex}"}
        found = await call("search_manga_catalog", {"query": "one piece", "max_results": 1}, session)
        stock = await call("check_inventory", {}, session)
        # A failure is a result, not an exception.
        wrong = await call("search_manga_catalog", {"query": ""})
        order = await call("lookup_order", {"order_id": "MNG-DEMO1001"}, {"com.mangaassist/userId": "demo-user-1"})
        try:
            await call("search_manga", {})
            unknown = None
        except MCPError as error:
            unknown = {"code": error.error.code, "data": error.error.data}
        read = await reading(server, json.loads(os.environ["READS"]))
    return {
        "reading": read,
        "tools": [tool.name for tool in tools],
        "found": found["structuredContent"],
        "stock": stock["structuredContent"],
        "wrong": [wrong["isError"], wrong["structuredContent"]],
        "order": order["structuredContent"],
        "unknown": unknown,
    }


if __name__ == "__main__":
    for kind, *target in json.loads(sys.argv[1]):
        print(json.dumps(asyncio.run(main(kind, target))))
