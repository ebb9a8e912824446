"""The clients that a test body is run with: every transport and era, behind one small interface.

The official client is driven in this process; Strands, which pins an older SDK, in one of its own.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import mcp_types as types
import pytest
from mcp.client import Client as SdkClient
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError

from tests.support.answers import Answer, Json, RpcError, meta_of
from tests.support.loop_thread import Held, LoopThread
from tests.support.serving import ROOT, clean_environment
from tests.support.strands import OfStrands, StrandsDriver

MODERN = "2026-07-28"
STDIO = ["-m", "server", "stdio"]


class Client(Protocol):
    async def tools(self) -> list[Json]: ...

    async def call(self, tool: str, arguments: Json | None = None, **stated: Any) -> Answer:
        """`stated` are the `_meta` keys: `sessionId=…`, `userId=…`; `meta={…}` are further ones as they are.

        Raises `RpcError`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Transport:
    """How a client reaches the server. `own_session` is whether the connection itself is a session."""

    name: str
    kind: str
    era: str
    own_session: bool
    strands: bool = False
    path: str = "/mcp"

    @property
    def http(self) -> bool:
        return self.kind != "stdio"


TRANSPORTS = {
    each.name: each
    for each in (
        Transport("sse-2025", "sse", "legacy", own_session=True, path="/sse"),
        Transport("sse-2026", "sse", "auto", own_session=True, path="/sse"),
        Transport("http-2025", "http", "legacy", own_session=True),
        Transport("http-2026", "http", MODERN, own_session=False),
        Transport("get-mcp-as-sse", "sse", "legacy", own_session=True),
        Transport("stdio-2025", "stdio", "legacy", own_session=True),
        Transport("stdio-2026", "stdio", "auto", own_session=True),
        Transport("strands-sse", "sse", "auto", own_session=True, strands=True, path="/sse"),
        Transport("strands-http", "http", "auto", own_session=False, strands=True),
        Transport("strands-stdio", "stdio", "auto", own_session=True, strands=True),
    )
}

ONE_OF_A_KIND = ("http-2026", "sse-2025", "stdio-2025", "strands-sse")
"""The clients of the gate: `make test-all` asks all of them."""


def params(names: Iterable[str]) -> list[Any]:
    """For parametrize: the clients of these names, of which all but one of a kind are slow."""
    return [each if each in ONE_OF_A_KIND else pytest.param(each, marks=pytest.mark.slow) for each in names]


@dataclass(frozen=True, slots=True)
class OfSdk:
    """The official client, mcp 2.x."""

    held: Held[SdkClient]

    @property
    def sdk(self) -> SdkClient:
        return self.held.value

    async def listed(self) -> Json:
        """The whole answer to tools/list, never the client's own cache."""
        found = await self.held.ask(self.sdk.list_tools(cache_mode="bypass"))
        return dict(found.model_dump(mode="json", by_alias=True, exclude_none=True))

    async def tools(self) -> list[Json]:
        return list((await self.listed())["tools"])

    async def call(self, tool: str, arguments: Json | None = None, **stated: Any) -> Answer:
        try:
            result = await self.held.ask(self.sdk.call_tool(tool, arguments, meta=meta_of(stated)))
        except MCPError as error:
            raise RpcError(error.error.code, error.error.message, error.error.data) from None
        texts = tuple(block.text for block in result.content if isinstance(block, types.TextContent))
        return Answer(bool(result.is_error), result.structured_content, texts, dict(result.meta or {}))


@asynccontextmanager
async def _streamable_http(url: str, headers: dict[str, str]) -> AsyncIterator[Any]:
    async with create_mcp_http_client(headers=headers) as http, streamable_http_client(url, http_client=http) as streams:
        yield streams


@dataclass(slots=True)
class Connections:
    """Opens clients and closes them all at the end. Those without headers of their own are opened once."""

    folder: Path
    cache: Path
    strands: StrandsDriver | None = None
    stdio_settings: Mapping[str, str] = field(default_factory=dict)
    _thread: LoopThread = field(default_factory=LoopThread)
    _stack: ExitStack = field(default_factory=ExitStack)
    _shared: dict[tuple[str, str], Client] = field(default_factory=dict)

    def shared(self, name: str, url: str) -> Client:
        if (name, url) not in self._shared:
            self._shared[name, url] = self.open(name, url)
        return self._shared[name, url]

    def open(self, name: str, url: str, headers: Mapping[str, str] | None = None, **options: Any) -> Client:
        """`options` go to the client: `message_handler` of the SDK's, `on_tools_changed` of Strands'."""
        transport = TRANSPORTS[name]
        if transport.strands:
            return self._of_strands(transport, url, dict(headers or {}), **options)
        connect = self._connector(transport, url, dict(headers or {}))
        held = Held(self._thread, lambda: SdkClient(connect(), mode=transport.era, **options))
        self._stack.callback(held.close)
        return OfSdk(held)

    def beside(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Runs it on the loop of the SDK's clients until they are closed."""
        running = asyncio.run_coroutine_threadsafe(work(), self._thread.loop)
        self._stack.callback(running.cancel)

    def _of_strands(self, transport: Transport, url: str, headers: dict[str, str], **options: Any) -> OfStrands:
        assert self.strands is not None, "these connections were made without Strands"
        if transport.http:
            target: Json = {"kind": transport.kind, "url": url + transport.path, "headers": headers}
        else:
            own = {"env": self._stdio_environment(), "log": str(self._log(transport.name))}
            target = {"kind": "stdio", "command": [sys.executable, *STDIO], "cwd": str(ROOT), **own}
        client = self.strands.open(target, **options)
        self._stack.callback(client.driver.ask, "close", client=client.name)
        return client

    def _connector(
        self, transport: Transport, url: str, headers: dict[str, str]
    ) -> Callable[[], AbstractAsyncContextManager[Any]]:
        if transport.kind == "sse":
            return lambda: sse_client(url + transport.path, headers=headers)
        if transport.kind == "http":
            return lambda: _streamable_http(url + transport.path, headers)
        return lambda: self._stdio(transport.name)

    def _stdio(self, name: str) -> AbstractAsyncContextManager[Any]:
        environment = self._stdio_environment()
        parameters = StdioServerParameters(command=sys.executable, args=STDIO, cwd=ROOT, env=environment)
        return stdio_client(parameters, errlog=self._stack.enter_context(self._log(name).open("a")))

    def _stdio_environment(self) -> dict[str, str]:
        return clean_environment(self.cache, self.stdio_settings)

    def _log(self, name: str) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{name}.log"

    def close(self) -> None:
        self._stack.close()
        self._thread.close()
