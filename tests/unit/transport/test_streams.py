"""What a stream admits and holds: messages, requests under way, bytes that its client has not read."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage
from starlette.types import Message

from server.transport.http import sse
from server.transport.http.bodies import Admission
from server.transport.http.slots import Subscriptions
from server.transport.http.streams import Incoming, Outgoing, Refused, Stream, admit, stream_for
from server.transport.messages import BAD_ID, DUPLICATE_ID, NO_MESSAGE
from tests.support.relayed import scope

pytestmark = pytest.mark.virtual_time

NOTE = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def ping(number: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "ping"}


async def take(message: Message) -> None: ...


def opened(*, under_way: int = 0, unread: int = 0, waiting: int = 0, batches: bool | None = None) -> Stream:
    stream = stream_for(scope(), Outgoing(take), "s", "sse")
    stream.outgoing.under_way.update(f"old {number}" for number in range(under_way))
    stream.outgoing.unread_bytes = unread
    stream.batches = batches
    for _ in range(waiting):
        stream.incoming.put(SessionMessage(types.JSONRPCNotification(jsonrpc="2.0", method="x")))
    return stream


def refused(stream: Stream, message: Any) -> tuple[int, str] | None:
    """Status and reason; None for a message that is admitted."""
    try:
        admit(json.dumps(message).encode(), stream, scope(), Admission(Subscriptions()))
    except Refused as told:
        return told.response.status_code, bytes(told.response.body).decode().strip()
    return None


async def test_stream_admits_messages_requests_and_answers_up_to_their_bounds() -> None:
    """A refused entry of a batch is an error with its id, unless another request has that, and says whose fault it is."""
    waiting = (503, "This session has too many messages waiting.")
    requests = (503, "This session has too many requests under way.")
    answers = (503, "This session has too many answers waiting to be read.")
    assert [refused(opened(waiting=number), NOTE) for number in (255, 256)] == [None, waiting]
    assert [refused(opened(under_way=number), ping(1)) for number in (255, 256)] == [None, requests]
    assert [refused(opened(unread=number), ping(1)) for number in (2**18 - 1, 2**18)] == [None, answers]
    assert refused(opened(under_way=256, unread=2**18), NOTE) is None
    both = [ping(1), NOTE]
    assert [refused(opened(waiting=number, batches=True), both) for number in (254, 255)] == [None, waiting]
    assert [refused(opened(under_way=number, batches=True), both) for number in (254, 255)] == [None, requests]
    assert refused(opened(under_way=256, batches=True), [ping(1)]) is None, "its one message is answered by itself"
    assert refused(opened(), both) == (400, NO_MESSAGE)
    assert refused(opened(), {**NOTE, "id": None}) == (400, BAD_ID)
    assert refused(opened(), {**NOTE, "params": {"id": 1}}) is None
    assert refused(opened(batches=True), []) == (400, "A batch has 1 to 20 messages.")
    entries = [ping(1), {"jsonrpc": "1.0", "id": 2}, ping(1), ping("old 0"), NOTE]
    stream = opened(under_way=1, batches=True)
    admitted = admit(json.dumps(entries).encode(), stream, scope(), Admission(Subscriptions()))
    told = [(each.id, each.error.code) if isinstance(each, types.JSONRPCError) else "served" for each in admitted]
    invalid = types.INVALID_REQUEST
    assert told == ["served", (2, invalid), (None, invalid), (None, invalid), "served"]
    (full,) = admit(json.dumps([ping(1)]).encode(), opened(unread=2**18, batches=True), scope(), Admission(Subscriptions()))
    assert isinstance(full, types.JSONRPCError)
    assert (full.id, full.error.code) == (1, types.INTERNAL_ERROR)


async def test_request_is_under_way_until_it_is_answered_or_cancelled() -> None:
    stream = opened()
    (first,) = admit(json.dumps(ping(7)).encode(), stream, scope(), Admission(Subscriptions()))
    assert isinstance(first, SessionMessage)
    assert (stream.busy(), refused(stream, ping(7)), refused(stream, ping("7"))) == (True, (400, DUPLICATE_ID), None)
    await first.metadata.on_request_unanswered()  # type: ignore[union-attr, misc]
    await stream.outgoing.send(SessionMessage(types.JSONRPCNotification(jsonrpc="2.0", method="x")))
    assert stream.outgoing.under_way == {"7"}
    await stream.outgoing.send(SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id="7", result={})))
    assert not stream.busy()
    for version, has_batches in (("2025-03-26", True), ("2025-06-18", False), ("2024-11-05", True)):
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        own = opened()
        assert refused(own, {**ping(version), "method": "initialize", "params": params}) is None
        assert own.batches is has_batches


async def test_bytes_are_unread_until_the_socket_has_taken_them() -> None:
    """A ping every 15 seconds keeps a proxy waiting."""
    gate, said = asyncio.Event(), list[Message]()

    async def send(message: Message) -> None:
        await gate.wait()
        said.append(message)

    outgoing = Outgoing(send)
    writing = [asyncio.create_task(outgoing.write(b"abc")), asyncio.create_task(outgoing.answer(7, b"result", b"{}"))]
    outgoing.under_way.add(7)
    await asyncio.sleep(1.0)
    assert (outgoing.unread_bytes, outgoing.all_read.is_set()) == (5, False)
    gate.set()
    await asyncio.gather(*writing)
    assert (outgoing.unread_bytes, outgoing.all_read.is_set(), outgoing.under_way) == (0, True, set())
    assert [each["more_body"] for each in said] == [True, True]
    assert said[1]["body"] == b'event: message\r\ndata: {"jsonrpc":"2.0","id":7,"result":{}}\r\n\r\n'
    keeping = asyncio.create_task(sse._keep_alive(outgoing))
    for seconds, pings in ((14.9, 0), (0.2, 1), (14.9, 2)):
        await asyncio.sleep(seconds)
        assert [each["body"] for each in said[2:]] == [b": ping\r\n\r\n"] * pings
    keeping.cancel()
    said[2:] = []
    await outgoing.aclose()
    with pytest.raises(anyio.ClosedResourceError):
        await outgoing.send(SessionMessage(types.JSONRPCNotification(jsonrpc="2.0", method="x")))
    await outgoing.finish()
    assert (said[2]["body"], said[2]["more_body"]) == (b"", False)


async def test_end_of_a_stream_is_the_end_for_every_reader() -> None:
    incoming, waited = Incoming(), list[str]()

    async def ready() -> None:
        waited.append("ready")

    incoming.ready = ready
    taken = [True, False]
    incoming.take_directly = lambda message: taken.pop(0)
    for number in (1, 2):
        incoming.put(SessionMessage(types.JSONRPCRequest(jsonrpc="2.0", id=number, method="ping")))
    incoming.end()
    for read in ([2], [], []):
        assert [each.message.id async for each in incoming] == read  # type: ignore[union-attr]
    assert (waited, incoming.last_context is not None) == (["ready"], True)
