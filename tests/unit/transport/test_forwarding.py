"""A request is sent again, given up and left at the stated times; of its owner alone an answer is taken."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from mcp_types import INVALID_REQUEST
from prometheus_client import CollectorRegistry

from server.identity.request_metadata import TrustStated
from server.transport.http.slots import user_of
from server.transport.relay import forwarding
from server.transport.relay.carriers import LARGEST_MESSAGE
from server.transport.relay.forwarding import WINDOW, Answer, Forwarder
from server.transport.relay.port import (
    MESSAGES,
    SESSIONS,
    Ack,
    Ask,
    Cancel,
    DeliveryUnknown,
    Frame,
    Part,
    ProcessEnded,
    Progress,
    Unreached,
)
from server.transport.relay.serving import LARGEST_PART
from tests.support.cases import cases
from tests.support.relayed import Client, NotedRelay, follow_virtual_time, scope

pytestmark = pytest.mark.virtual_time

OWNER, OTHER = "0123456789ab", "ba9876543210"
PING = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'


class Side:
    """The side of the process that was asked."""

    def __init__(self, patience: float = 3.0) -> None:
        self.relay = NotedRelay()
        self.registry = CollectorRegistry()
        self.forwarder = Forwarder(self.relay, patience, self.registry, TrustStated())

    def outcomes(self) -> dict[str, float | None]:
        name, known = "manga_relay_forwarded_total", ("answered", "gone", "unreached", "lost")
        told = {each: self.registry.get_sample_value(name, {"outcome": each}) for each in known}
        return {outcome: number for outcome, number in told.items() if number != 0}

    def later(self, seconds: float, *frames: Frame) -> None:
        """The frames come from other processes after so many seconds."""

        def come() -> None:
            for frame in frames:
                if isinstance(frame, Part):
                    self.forwarder.add_part(frame)
                elif isinstance(frame, Ack):
                    self.forwarder.acknowledge(frame)

        asyncio.get_running_loop().call_later(seconds, come)

    async def ask(self, to: str = SESSIONS, body: bytes = PING, client: Client | None = None, owner: str = OWNER) -> Client:
        client = client or Client()
        await self.forwarder.forward(owner, to, body, scope(), client.receive, client.send)
        return client


@pytest.fixture(autouse=True)
async def timed(monkeypatch: pytest.MonkeyPatch) -> None:
    follow_virtual_time(monkeypatch, forwarding)


def part(order: int, body: bytes = b"x", *, more: bool = False, status: int = 200, sender: str = OWNER) -> Part:
    return Part(sender, 1, order, body, more, status if order == 0 else 0)


def failing(*failures: Exception | None) -> NotedRelay:
    """What each sending of a request raises, one after the other; later ones nothing."""
    left = list(failures)
    relay = NotedRelay()
    relay.fails = lambda frame: left.pop(0) if isinstance(frame, Ask) and left else None
    return relay


@cases(("patience", "times"), [(0.5, [0]), (1.0, [0]), (2.5, [0, 1, 2]), (3.0, [0, 1, 2])])
async def test_unacknowledged_request_is_sent_again_each_second_as_long_as_its_owner_has(
    patience: float, times: list[float]
) -> None:
    own = Side(patience)
    client = await own.ask()
    assert (own.relay.times_of(Ask), own.relay.now()) == (times, patience)
    assert (client.status, json.loads(client.body)["id"], client.whole) == (200, 7, True)
    await own.forwarder.aclose()
    assert own.relay.cancels() == [(OWNER, 1, SESSIONS)]
    assert own.outcomes() == {"unreached": 1}


@cases(("sender", "number", "ends"), [(OWNER, 1, 120.3), (OTHER, 1, 0.5), (OWNER, 2, 0.5)])
async def test_acknowledged_request_is_not_sent_again_and_waits_two_minutes_for_its_answer(
    sender: str, number: int, ends: float
) -> None:
    own = Side(0.5)
    own.later(0.3, Ack(sender, number))
    await own.ask()
    assert (own.relay.times_of(Ask), own.relay.now()) == ([0], ends)
    assert own.outcomes() == {"unreached": 1}


@cases(
    ("failures", "outcome", "ends", "cancels"),
    [
        ([Unreached()], "unreached", 0.0, 0),
        ([ProcessEnded()], "gone", 0.0, 0),
        ([DeliveryUnknown()], "unreached", 3.0, 1),
        ([None, Unreached(), Unreached()], "unreached", 3.0, 1),
        ([None, ProcessEnded()], "gone", 1.0, 1),
    ],
)
async def test_owner_that_is_not_reached_is_told_apart_from_one_that_has_ended(
    failures: Sequence[Exception | None], outcome: str, ends: float, cancels: int
) -> None:
    for to in (SESSIONS, MESSAGES):
        own = Side()
        own.relay = own.forwarder._relay = failing(*failures)
        client = await own.ask(to)
        assert own.relay.now() == ends
        assert own.outcomes() == {outcome: 1}
        await own.forwarder.aclose()
        assert own.relay.cancels() == [(OWNER, 1, to)] * cancels
        assert client.status == (404 if outcome == "gone" else 200 if to == SESSIONS else 503)
        if outcome == "gone" and to == SESSIONS:
            error = json.loads(client.body)["error"]
            assert (error["code"], error["message"]) == (INVALID_REQUEST, "Session not found")
        elif outcome == "gone":
            assert client.body == b"There is no such session.\n"


async def test_request_is_forwarded_whole_but_without_secrets() -> None:
    own, client = Side(), Client()
    kept = [(b"mcp-session-id", b"s"), (b"x-user-id", b"u")]
    secret = [(b"authorization", b"a"), (b"proxy-authorization", b"b"), (b"cookie", b"c")]
    own.relay.clock.advance(1.0)
    asked = scope(
        method="POST", path="/a", query_string=b"q=1", scheme="https", headers=kept + secret, user=user_of("somebody")
    )
    asked["manga.arrived"] -= 0.25
    own.later(0.0, part(0))
    await own.forwarder.forward(OWNER, SESSIONS, PING, asked, client.receive, client.send)
    (_, to, frame), *_ = own.relay.sent
    assert isinstance(frame, Ask)
    assert (to, frame.sender, frame.number, frame.to) == (OWNER, own.relay.own, 1, SESSIONS)
    assert (frame.method, frame.path, frame.query, frame.scheme) == ("POST", "/a", b"q=1", "https")
    assert (frame.headers, frame.client, frame.user, frame.body) == (kept, ("127.0.0.1", 1), "somebody", PING)
    assert (frame.waited_ms, frame.window) == (250, WINDOW)


async def test_owner_learns_of_every_eighth_part_that_its_client_took() -> None:
    """Half a window at a time; that a message about it is lost disturbs nobody."""
    assert WINDOW * LARGEST_PART == 256 * 1024
    assert LARGEST_PART + 1024 <= LARGEST_MESSAGE < 2 * LARGEST_PART + 1024
    own = Side()
    own.relay.fails = lambda frame: Unreached() if isinstance(frame, Progress) else None
    own.later(0.1, *(part(order, b"%d," % order, more=order < 17) for order in range(18)))
    client = await own.ask()
    assert client.body == b"".join(b"%d," % order for order in range(18))
    assert [frame.parts for _, _, frame in own.relay.sent if isinstance(frame, Progress)] == [8, 16]
    assert (client.whole, own.outcomes(), own.relay.cancels()) == (True, {"answered": 1}, [])


@cases(
    ("late", "of"),
    [
        (part(0, more=True), SESSIONS),
        (part(3, more=True), SESSIONS),
        (part(0, status=202), MESSAGES),
        (part(0), None),
        (part(3), None),
    ],
)
async def test_sender_of_an_answer_that_nobody_awaits_is_told_to_stop(late: Part, of: str | None) -> None:
    """So is a process that has not been asked, and its parts belong to no answer."""
    own = Side()
    own.forwarder.add_part(late)
    await own.forwarder.aclose()
    assert own.relay.cancels() == ([(OWNER, 1, of)] if of else [])
    asked = Side()
    asked.later(0.1, replace(late, sender=OTHER, number=1), part(0, b"true"))
    assert (await asked.ask()).body == b"true"
    assert asked.relay.cancels() == ([(OTHER, 1, of)] if of else [])


@cases(("failure", "most"), [(Unreached(), 51), (DeliveryUnknown(), 51), (ProcessEnded(), 1)])
async def test_owner_is_told_for_ten_seconds_that_a_client_has_left(failure: Exception, most: int) -> None:
    """Unless it has ended. The end of this process waits a quarter of a second for it."""
    own, client = Side(), Client()
    own.relay.fails = lambda frame: failure if isinstance(frame, Cancel) else None
    own.later(0.0, part(0, more=True))
    asyncio.get_running_loop().call_later(1.0, client.leaves.set)
    await own.ask(client=client)
    assert not client.whole
    await asyncio.sleep(60.0)
    times = own.relay.times_of(Cancel)
    assert (times[0], most - 1 <= len(times) <= most) == (1.0, True)
    assert times == [pytest.approx(1.0 + number / 5) for number in range(len(times))]
    now = own.relay.now()
    own.forwarder.add_part(part(0, more=True))
    await own.forwarder.aclose()
    assert own.relay.now() - now == pytest.approx(0.0 if most == 1 else 0.25)
    await asyncio.sleep(5.0)
    assert len(own.relay.times_of(Cancel)) == len(times) + min(2, most)


@cases(("owner", "lost"), [(OWNER, [OWNER]), (None, [OWNER, OTHER])])
async def test_requests_of_an_owner_that_is_lost_get_an_error(owner: str | None, lost: list[str]) -> None:
    own = Side(60.0)
    asked = {each: asyncio.create_task(own.ask(MESSAGES, owner=each)) for each in (OWNER, OTHER)}
    await asyncio.sleep(0.1)
    assert (own.forwarder.owners(), len(own.forwarder)) == ({OWNER, OTHER}, 2)
    own.forwarder.lose(owner)
    await asyncio.sleep(0.1)
    assert [each for each, task in asked.items() if task.done()] == lost
    assert [task.result().status for task in asked.values() if task.done()] == [503] * len(lost)
    assert own.outcomes() == {"lost": len(lost)}
    own.forwarder.lose()
    await asyncio.gather(*asked.values())


async def test_rest_of_a_lost_answer_is_an_error_for_the_client() -> None:
    own = Side()
    head = Part(OWNER, 1, 0, b": ping\r\n\r\n", True, 200, [(b"content-type", b"text/event-stream")])
    own.later(0.1, head)
    asyncio.get_running_loop().call_later(0.2, own.forwarder.lose, OWNER)
    client = await own.ask()
    assert (client.status, client.whole, own.outcomes()) == (200, True, {"answered": 1})
    assert json.loads(client.body.decode().rpartition("data: ")[2])["id"] == 7
    await own.forwarder.aclose()
    assert own.relay.cancels() == [(OWNER, 1, SESSIONS)]


@cases(("to", "stays"), [(MESSAGES, True), (SESSIONS, False)])
async def test_message_of_a_stream_stays_accepted_when_its_client_leaves(to: str, stays: bool) -> None:
    own, client = Side(), Client()
    client.leaves.set()
    own.later(0.5, part(0, b"taken", status=202))
    await own.ask(to, client=client)
    assert client.body == (b"taken" if stays else b"")
    assert own.relay.now() == (0.5 if stays else 0.0)


async def test_answer_may_be_a_megabyte_ahead_of_its_reader() -> None:
    """Beyond it one more part is taken, and the next one loses the rest. A lost answer takes nothing more."""
    gap = Answer(OWNER)
    for each in (part(0, more=True), part(2, more=True), part(1)):
        gap.add(each)
    assert (gap.is_whole, gap.begun.is_set()) == (False, True)
    assert (await gap.next_part()).order == 0
    with pytest.raises(forwarding.Lost):
        await gap.next_part()
    for first, taken in ((2**20, 2), (2**20 + 1, 1)):
        answer = Answer(OWNER)
        answer.add(part(0, b"x" * first, more=True))
        for order in (1, 2):
            answer.add(part(order, more=True))
        for order in range(taken):
            assert (await answer.next_part()).order == order
        with pytest.raises(forwarding.Lost):
            await answer.next_part()
