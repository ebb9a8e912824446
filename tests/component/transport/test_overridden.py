"""Methods of uvicorn, h11, the SDK and PyJWT that are overridden or used: an upgrade that moves one fails here."""

from __future__ import annotations

import asyncio
import inspect
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import h11
import jwt
import pytest
import uvicorn
from mcp.server.lowlevel.server import Server
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from server.commands.serve import PatientServer
from server.identity.jwt.verifier import AccessTokens
from server.transport.http.connection import Connections, CountedConnection, HttpConnection, StrictParser
from server.transport.mcp import StoreServer

OVERRIDDEN = [
    (PatientServer, uvicorn.Server, {"startup", "capture_signals", "on_tick"}),
    (
        HttpConnection,
        H11Protocol,
        {
            "data_received",
            "handle_websocket_upgrade",
            "on_response_complete",
            "send_400_response",
        },
    ),
    (CountedConnection, H11Protocol, {"connection_made", "pause_writing", "resume_writing", "connection_lost"}),
    (StrictParser, h11.Connection, {"next_event"}),
    (StoreServer, Server, {"get_capabilities", "get_request_handler"}),
    (AccessTokens, jwt.PyJWT, {"_decode_payload"}),
]


@pytest.mark.parametrize(("ours", "theirs", "names"), OVERRIDDEN, ids=lambda each: getattr(each, "__name__", ""))
def test_overridden_methods_exist_upstream_with_the_same_parameters(ours: type, theirs: type, names: set[str]) -> None:
    """An override of a renamed method would never be called."""
    own = {name for name, value in vars(ours).items() if inspect.isfunction(value) and hasattr(theirs, name)}
    assert own - {"__init__"} == names
    for name in names:
        given = inspect.signature(getattr(theirs, name)).parameters
        assert list(inspect.signature(getattr(ours, name)).parameters) == list(given), name


def test_overridden_httptools_methods_exist_upstream() -> None:
    """It runs where httptools is installed."""
    pytest.importorskip("httptools", reason="httptools is not installed: h11 reads all requests here")
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    from server.transport.http.connection import PlainRequests

    counted = {"connection_made", "connection_lost", "pause_writing", "resume_writing"}
    test_overridden_methods_exist_upstream_with_the_same_parameters(CountedConnection, HttpToolsProtocol, counted)
    read = {"data_received", "on_header", "on_headers_complete", "on_response_complete"}
    test_overridden_methods_exist_upstream_with_the_same_parameters(PlainRequests, HttpToolsProtocol, read)


async def test_uvicorn_calls_the_overridden_methods_in_order() -> None:
    """They get the tick's number and the given sockets."""
    called: list[Any] = []

    class Noted(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            called.append("signals")
            yield

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            called.append(sockets)
            await super().startup(sockets)

        async def on_tick(self, counter: int) -> bool:
            called.append(counter)
            return counter == 1

    async def app(scope: Any, receive: Any, send: Any) -> None: ...

    with socket.create_server(("127.0.0.1", 0)) as listener:
        await Noted(uvicorn.Config(app, lifespan="off", log_config=None)).serve([listener])
        assert called == ["signals", [listener], 0, 1]


class Wire(asyncio.Transport):
    """Takes what is written, and belongs to nobody."""

    def write(self, data: Any) -> None: ...

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def is_closing(self) -> bool:
        return False

    def close(self) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def test_request_cycle_has_the_attributes_the_connection_uses() -> None:
    """`HttpConnection` ends a request by telling its cycle, and asks it how far the answer is."""
    called = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        called.set()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    config = uvicorn.Config(app, lifespan="off", log_config=None)
    config.load()
    connection = HttpConnection(config, ServerState(), {}, all_connections=Connections(1))
    connection.connection_made(Wire())
    assert connection.cycle is None
    connection.data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    cycle = connection.cycle
    assert isinstance(cycle.message_event, asyncio.Event)
    assert (cycle.disconnected, cycle.response_started, cycle.response_complete) == (False, False, False)
    async with asyncio.timeout(30):
        while not cycle.response_complete:
            await asyncio.sleep(0)
    assert called.is_set()
    assert cycle.response_started
    connection.connection_lost(None)
