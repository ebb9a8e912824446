"""Strands' clients, driven by lines of JSON: run by a Python that has Strands, `python strands_driver.py`.

Each line on stdin is a command with an `id`, and each gets one line on stdout with the same `id`: `{"id", "value"}` or
`{"id", "error"}`. `open` names a connection (`client`), which `tools`, `call`, `tool`, `read` and `close` then use. A connection opened
with `listen` also sends `{"client", "tools"}`, unasked, whenever its tools have changed. Everything is closed at the end of
stdin.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters, stdio_client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from opentelemetry import baggage, context, trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags
from strands.tools.mcp import MCPClient

Json = dict[str, Any]
Connect = Callable[[], Any]
LONGEST_LINE = 2**24


def connector(target: Json) -> Connect:
    """`target` is `{"kind": "sse" or "http", "url", "headers"}`, or `{"kind": "stdio", "command", "cwd", "env", "log"}`."""
    match target["kind"]:
        case "sse":
            return lambda: sse_client(target["url"], headers=target["headers"])
        case "http":
            return lambda: streamable_http_client(
                target["url"], http_client=create_mcp_http_client(headers=target["headers"])
            )
    program, *arguments = target["command"]
    parameters = StdioServerParameters(command=program, args=arguments, cwd=target["cwd"], env=target["env"])
    return lambda: stdio_client(parameters, errlog=Path(target["log"]).open("a"))


@contextmanager
def traced(about: Json | None) -> Any:
    """OpenTelemetry's context as an instrumented agent has it: `{"trace": number, "baggage": {name: value}}`."""
    if about is None:
        yield
        return
    here = SpanContext(about["trace"], 1, is_remote=False, trace_flags=TraceFlags(1))
    within = trace.set_span_in_context(NonRecordingSpan(here))
    for name, value in about["baggage"].items():
        within = baggage.set_baggage(name, value, within)
    token = context.attach(within)
    try:
        yield
    finally:
        context.detach(token)


class Driver:
    def __init__(self) -> None:
        self._clients: dict[str, tuple[MCPClient, ExitStack]] = {}
        self._loop = asyncio.get_running_loop()

    async def answer(self, command: Json) -> None:
        """One command, whatever comes of it."""
        try:
            said = {"value": await getattr(self, f"do_{command['do']}")(command)}
        except Exception as error:  # a failure of the client is an answer like any other
            said = {"error": f"{type(error).__name__}: {error}"}
        tell({"id": command["id"], **said})

    async def do_open(self, command: Json) -> None:
        options: Json = {"on_tools_changed": self._listener(command["client"])} if command["listen"] else {}
        client, stack = MCPClient(connector(command["target"]), **options), ExitStack()
        await asyncio.to_thread(stack.enter_context, client)
        self._clients[command["client"]] = client, stack

    def _listener(self, name: str) -> Callable[[Any, Any], None]:
        def changed(before: Any, tools: list[Any]) -> None:
            self._loop.call_soon_threadsafe(tell, {"client": name, "tools": [tool.tool_name for tool in tools]})

        return changed

    async def do_tools(self, command: Json) -> list[Json]:
        listed = await asyncio.to_thread(self._client(command).list_tools_sync)
        return [{"spec": tool.tool_spec, "title": tool.mcp_tool.title} for tool in listed]

    async def do_call(self, command: Json) -> Any:
        """As code of an agent calls: a name, arguments and `_meta`."""
        with traced(command.get("traced")):
            return await self._client(command).call_tool_async(
                "use-1", command["tool"], command["arguments"], meta=command["meta"]
            )

    async def do_tool(self, command: Json) -> Any:
        """As a model calls: through the tool object that the agent was given."""
        listed = await asyncio.to_thread(self._client(command).list_tools_sync)
        tool = next(each for each in listed if each.tool_name == command["tool"])
        use: Any = {"toolUseId": "use-1", "name": command["tool"], "input": command["arguments"]}
        events: list[Any] = [event async for event in tool.stream(use, {})]
        return events[-1]["tool_result"]

    async def do_read(self, command: Json) -> Json:
        """Everything that is listed, and what is named: `{"uris": [address, …], "prompts": {name: arguments, …}}`."""
        return await asyncio.to_thread(_read, self._client(command), command["uris"], command["prompts"])

    async def do_close(self, command: Json) -> None:
        _, stack = self._clients.pop(command["client"])
        await asyncio.to_thread(stack.close)

    def _client(self, command: Json) -> MCPClient:
        return self._clients[command["client"]][0]

    async def close(self) -> None:
        for name in list(self._clients):
            await self.do_close({"client": name})


def _read(client: MCPClient, uris: list[str], prompts: dict[str, Json]) -> Json:
    listed = [
        [str(each.uri) for each in client.list_resources_sync().resources],
        [each.uri_template for each in client.list_resource_templates_sync().resource_templates],
        [each.name for each in client.list_prompts_sync().prompts] if prompts else [],
    ]
    read = {uri: client.read_resource_sync(uri).contents for uri in uris}
    made = {name: client.get_prompt_sync(name, given).messages for name, given in prompts.items()}
    return {
        "listed": listed,
        "read": {uri: [[str(each.uri), each.mime_type, each.text] for each in contents] for uri, contents in read.items()},
        "made": {name: [each.role for each in messages] for name, messages in made.items()},
    }


def tell(line: Json) -> None:
    """Whole lines, from the loop's thread alone."""
    data = json.dumps(line, default=str).encode() + b"\n"
    while data:
        data = data[os.write(1, data) :]


async def main() -> None:
    driver, running = Driver(), set[asyncio.Task[None]]()
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    await driver._loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        task = asyncio.create_task(driver.answer(json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)
    await driver.close()


if __name__ == "__main__":
    asyncio.run(main())
