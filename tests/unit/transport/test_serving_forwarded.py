"""A forwarded request runs once, its answer goes back in parts, and who takes none is left at the stated times."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import replace

import pytest
from mcp_types import INTERNAL_ERROR
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.call import VerifiedIdentity
from server.identity.request_metadata import VOUCHED
from server.transport.http.connection import ANSWER_SECONDS
from server.transport.http.slots import principal_of
from server.transport.relay import serving
from server.transport.relay.port import MESSAGES, SESSIONS, Ack, Ask, Cancel, Part, ProcessEnded, Progress, Unreached
from server.transport.relay.serving import LARGEST_PART, STALL_SECONDS, ForwardedRequests
from tests.support.cases import cases
from tests.support.relayed import NotedRelay, follow_virtual_time

pytestmark = pytest.mark.virtual_time

ASKER, OTHER = "0123456789ab", "ba9876543210"
PING = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'
ASK = Ask(ASKER, 1, SESSIONS, "POST", "/mcp", b"", "http", [], None, None, 0, PING)
STREAM = replace(ASK, method="GET", body=b"", headers=[(b"mcp-session-id", b"s")])


@pytest.fixture(autouse=True)
async def timed(monkeypatch: pytest.MonkeyPatch) -> None:
    follow_virtual_time(monkeypatch, serving)


class App:
    """Answers with these bodies, each told to have more behind it but the last, once it may; `ran` are the scopes."""

    def __init__(self, *bodies: bytes, status: int = 200, seconds: float = 0.0) -> None:
        self.bodies, self.status, self.seconds = bodies or (b"answered",), status, seconds
        self.ran: list[Scope] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.ran.append(scope)
        await asyncio.sleep(self.seconds)
        await send({"type": "http.response.start", "status": self.status, "headers": [(b"x", b"y")]})
        for number, body in enumerate(self.bodies, 1):
            await send({"type": "http.response.body", "body": body, "more_body": number < len(self.bodies)})


async def until_left(scope: Scope, receive: Receive, send: Send) -> None:
    """A stream that says nothing, and ends a quarter of a second after its client has left."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while (await receive())["type"] != "http.disconnect":
        pass
    await asyncio.sleep(0.25)


def serving_by(app: ASGIApp) -> tuple[ForwardedRequests, NotedRelay]:
    relay = NotedRelay()
    return ForwardedRequests(relay, {MESSAGES: app, SESSIONS: app}), relay


def told(parts: Sequence[Part]) -> list[tuple[int, int, bool, int]]:
    return [(each.order, len(each.body), each.more, each.status) for each in parts]


@cases(
    ("bodies", "parts"),
    [
        ([b"x" * LARGEST_PART], [(0, LARGEST_PART, False, 200)]),
        ([b"x" * (LARGEST_PART + 1)], [(0, LARGEST_PART, True, 200), (1, 1, False, 0)]),
        ([b"x" * 2 * LARGEST_PART], [(0, LARGEST_PART, True, 200), (1, LARGEST_PART, False, 0)]),
        ([b"", b"x"], [(0, 1, False, 200)]),
        ([b"x", b""], [(0, 1, True, 200), (1, 0, False, 0)]),
        ([b""], [(0, 0, False, 200)]),
    ],
)
async def test_answer_is_sent_in_parts_of_which_the_first_has_the_head(
    bodies: list[bytes], parts: list[tuple[int, int, bool, int]]
) -> None:
    served, relay = serving_by(App(*bodies))
    served.begin(ASK)
    await asyncio.sleep(1.0)
    assert told(relay.parts()) == parts
    assert [each.headers for each in relay.parts()] == [[(b"x", b"y")], *[[]] * (len(parts) - 1)]
    assert {(to, frame.sender) for _, to, frame in relay.sent} == {(ASKER, relay.own)}
    assert (len(served), served.senders(), relay.times_of(Ack)) == (0, set(), [])


async def test_head_of_a_stream_is_sent_before_its_first_event() -> None:
    """It may be silent for long, and until then its client would not know that it is open."""
    for asked, heads in ((STREAM, [(0, 0, True, 200)]), (ASK, [])):
        served, relay = serving_by(until_left)
        served.begin(asked)
        await asyncio.sleep(5.0)
        assert told(relay.parts()) == heads
        served.leave(Cancel(ASKER, 1))
        await asyncio.sleep(1.0)
        assert (len(served), told(relay.parts())) == (0, heads)


async def test_request_that_takes_its_time_is_acknowledged_and_a_duplicate_of_it_at_once() -> None:
    """It runs once; what comes behind the answer is ignored, and so is a request for an application that is not here."""
    app = App(seconds=1.0)
    served, relay = serving_by(app)
    served.begin(ASK)
    served.begin(replace(ASK, number=2, to="elsewhere"))
    await asyncio.sleep(0.05)
    served.begin(ASK)
    assert (len(served), served.senders()) == (1, {ASKER})
    await asyncio.sleep(2.0)
    served.begin(ASK)
    await asyncio.sleep(2.0)
    assert relay.times_of(Ack) == [0.05, 0.1]
    assert [(frame.sender, frame.number) for _, _, frame in relay.sent if isinstance(frame, Ack)] == [(relay.own, 1)] * 2
    assert (len(app.ran), relay.times_of(Part)) == (1, [1.0])


@cases(
    ("left", "seconds", "runs"),
    [
        (Cancel(ASKER, 1, MESSAGES), 29.9, 1),
        (Cancel(ASKER, 1, MESSAGES), 30.0, 2),
        (Cancel(ASKER, 1, SESSIONS), 1.0, 2),
        (Cancel(OTHER, 1, MESSAGES), 1.0, 2),
    ],
)
async def test_message_that_was_taken_is_not_run_again_when_its_client_repeats_it(
    left: Cancel, seconds: float, runs: int
) -> None:
    """The client was told to try again, and does so within half a minute; by whichever process."""
    for early in (False, True) if left.of == MESSAGES else (False,):
        app = App(status=202, seconds=0.5)
        served, relay = serving_by(app)
        asked = replace(ASK, to=MESSAGES)
        served.begin(asked)
        await asyncio.sleep(0.2 if early else 1.0)
        served.leave(left)
        await asyncio.sleep(0.5 - 0.2 + seconds if early else seconds)
        again = replace(asked, sender=OTHER, number=5)
        served.begin(again)
        await asyncio.sleep(1.0)
        assert len(app.ran) == runs
        assert told(relay.parts(5)) == [(0, 0 if runs == 1 else len(b"answered"), False, 202)]
        served.begin(replace(again, number=6))
        await asyncio.sleep(1.0)
        assert len(app.ran) == runs + 1, "what comes a third time is another"


@cases(("to", "status"), [(MESSAGES, 400), (SESSIONS, 202)])
async def test_refused_message_and_answered_request_run_again(to: str, status: int) -> None:
    app = App(status=status)
    served, _ = serving_by(app)
    served.begin(replace(ASK, to=to))
    await asyncio.sleep(1.0)
    served.leave(Cancel(ASKER, 1, MESSAGES))
    served.begin(replace(ASK, to=to, number=2))
    await asyncio.sleep(1.0)
    assert len(app.ran) == 2


@cases(
    ("second", "left", "waits"),
    [
        (replace(STREAM, number=2), True, 0.25),
        (replace(STREAM, number=2), False, 0.0),
        (replace(STREAM, number=2, method="POST"), True, 0.0),
        (replace(STREAM, number=2, user="another"), True, 0.0),
        (replace(STREAM, number=2, headers=[(b"mcp-session-id", b"t")]), True, 0.0),
    ],
)
async def test_stream_of_a_session_waits_for_the_end_of_the_one_before(second: Ask, left: bool, waits: float) -> None:
    served, relay = serving_by(until_left)
    served.begin(STREAM)
    await asyncio.sleep(1.0)
    if left:
        served.leave(Cancel(ASKER, 1))
    served.begin(second)
    await asyncio.sleep(0.0)
    begun = relay.now()
    while not relay.parts(2) and second.method == "GET":
        await asyncio.sleep(0.01)
    assert relay.now() - begun == pytest.approx(waits, abs=0.02)
    served.lose(ASKER)
    await served.aclose(1.0)


async def test_stream_waits_a_second_at_most_for_the_one_before() -> None:
    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.Event().wait()

    served, relay = serving_by(endless)
    served.begin(STREAM)
    await asyncio.sleep(1.0)
    served.leave(Cancel(ASKER, 1))
    served.begin(replace(STREAM, number=2))
    await asyncio.sleep(10.0)
    (_, second) = relay.times_of(Part)
    assert second == 2.0
    await served.aclose(0.5)
    assert relay.now() == 11.5


async def test_client_that_takes_no_part_is_left_ten_seconds_after_its_own_process_drops_it() -> None:
    """What it has taken before does not count, and progress extends its time."""
    assert STALL_SECONDS == ANSWER_SECONDS + 10.0
    ended: list[float] = []

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while not ended:
            await send({"type": "http.response.body", "body": b"x", "more_body": True})
            if len(relay.parts()) < sent[-1]:
                ended.append(relay.now())
            sent.append(len(relay.parts()) + 1)

    sent = [1]
    served, relay = serving_by(endless)
    served.begin(replace(ASK, window=4))
    await asyncio.sleep(30.0)
    assert len(relay.parts()) == 4
    served.note_progress(Progress(OTHER, 1, 4))
    served.note_progress(Progress(ASKER, 1, 3))
    served.note_progress(Progress(ASKER, 1, 2))
    await asyncio.sleep(39.0)
    assert (len(relay.parts()), ended) == (7, [])
    await asyncio.sleep(60.0)
    assert (len(relay.parts()), ended) == (7, [70.0])
    for window, sent_at_once in ((1, 1), (0, 3), (-1, 3)):
        served, relay = serving_by(App(b"x", b"y", b"z"))
        served.begin(replace(ASK, window=window))
        await asyncio.sleep(1.0)
        assert len(relay.parts()) == sent_at_once
        await asyncio.sleep(60.0)
        assert len(served) == 0


@cases(("failure", "times"), [(Unreached(), 60), (ProcessEnded(), 1)])
async def test_part_that_does_not_arrive_is_sent_again_for_three_seconds(failure: Exception, times: int) -> None:
    """Behind it none is sent."""
    served, relay = serving_by(App(b"one", b"two"))
    relay.fails = lambda frame: failure if isinstance(frame, Part) else None
    served.begin(ASK)
    await asyncio.sleep(30.0)
    sent = relay.times_of(Part)
    assert {each.order for each in relay.parts()} == {0}
    assert len(served) == 0
    assert abs(len(sent) - times) <= 1 if times > 1 else len(sent) == 1
    assert sent == [pytest.approx(number / 20) for number in range(len(sent))]


@cases(("to", "begins", "status"), [(MESSAGES, False, 503), (SESSIONS, False, 200), (SESSIONS, True, 200)])
async def test_request_that_fails_gets_an_error_or_the_end_of_its_answer(
    to: str, begins: bool, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        if begins:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"x", "more_body": True})
        raise RuntimeError("secret")

    served, relay = serving_by(fails)
    served.begin(replace(ASK, to=to))
    await asyncio.sleep(1.0)
    first = relay.parts()[0]
    assert (first.status, b"secret" in first.body) == (status, False)
    if begins:
        assert told(relay.parts()) == [(0, 1, True, 200), (1, 0, False, 0)]
    else:
        assert told(relay.parts()) == [(0, len(first.body), False, status)]
    if to == SESSIONS and not begins:
        assert json.loads(first.body)["error"]["code"] == INTERNAL_ERROR
    assert [each.levelno for each in caplog.records] == [logging.ERROR]
    caplog.clear()
    assert len(served) == 0


async def test_request_beyond_the_most_gets_503(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MOST_OPEN", 2)
    served, relay = serving_by(until_left)
    for number in (1, 2, 3):
        served.begin(replace(STREAM, number=number))
        await asyncio.sleep(1.0)
    assert [relay.parts(number)[0].status for number in (1, 2, 3)] == [200, 200, 503]
    assert len(served) == 2
    served.lose()
    await served.aclose(1.0)


@cases(("sender", "ended"), [(ASKER, [1, 2]), (None, [1, 3])])
async def test_requests_of_a_lost_process_end_and_of_any_process_their_streams(sender: str | None, ended: list[int]) -> None:
    over: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await receive()
        over.append(int(scope["path"]))

    served, _ = serving_by(app)
    asked = ((1, ASKER, "GET"), (2, ASKER, "POST"), (3, OTHER, "GET"), (4, OTHER, "POST"))
    for number, asker, method in asked:
        served.begin(replace(ASK, sender=asker, number=number, method=method, path=str(number)))
    await asyncio.sleep(1.0)
    assert served.senders() == {ASKER, OTHER}
    served.lose(sender)
    await asyncio.sleep(1.0)
    assert over == ended
    served.lose(ASKER)
    served.lose(OTHER)
    await served.aclose(1.0)


async def test_application_is_given_the_request_as_it_arrived_at_the_other_process() -> None:
    heard: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scopes.append(scope)
        heard.append(await receive())
        await App()(scope, receive, send)

    scopes: list[Scope] = []
    served, relay = serving_by(app)
    relay.clock.advance(5.0)
    served.begin(replace(ASK, query=b"a=1", scheme="https", client=("10.0.0.1", 7), waited_ms=250, bearer=True))
    served.begin(replace(ASK, number=2, user="somebody", path="/a b"))
    await asyncio.sleep(1.0)
    first, second = scopes
    assert heard == [{"type": "http.request", "body": PING, "more_body": False}] * 2
    assert (first["method"], first["path"], first["query_string"], first["scheme"]) == ("POST", "/mcp", b"a=1", "https")
    assert (first["client"], first["headers"], first["root_path"]) == (("10.0.0.1", 7), [], "")
    assert (first["manga.arrived"], first[VOUCHED]) == (relay.began + 4.75, VerifiedIdentity(True, {}))
    assert (principal_of(first), principal_of(second)) == (None, "somebody")
    assert (second["path"], second.get("raw_path")) == ("/a b", None), "its bytes are known to the other process only"
