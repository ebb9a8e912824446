"""The answer to a request is told apart from other events of its stream."""

from __future__ import annotations

import json
from typing import Any

from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR
from starlette.requests import Request
from starlette.types import Message

from server.transport.http.responses import (
    ANSWER,
    NO_MESSAGE,
    EventResponse,
    PartSend,
    SdkSend,
    call_when_sent,
    frame_event,
    refusal,
    refuse_unless_initialize,
)
from server.transport.messages import Posted
from tests.support.cases import cases

HEAD: Message = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"text/event-stream; charset=utf-8")],
}
ASKED = b'{"jsonrpc":"2.0","id":7,"method":"tools/call"}'
PROGRESS = (
    b'event: message\r\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"id":7,"result":1}}\r\n\r\n'
)
QUESTION = b'event: message\r\ndata: {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}\r\n\r\n'
OWN_ANSWER = b'event: message\r\ndata: {"jsonrpc":"2.0","id":7,"result":{}}\r\n\r\n'


@cases(
    ("event", "answers"),
    [
        (OWN_ANSWER, True),
        (b'event: message\ndata: {"jsonrpc":"2.0","id":"a\\"b","error":{"code":1,"message":""}}\n\n', True),
        (PROGRESS, False),
        (QUESTION, False),
        (b"id: 3\r\ndata: \r\n\r\n", False),
        (b"", False),
    ],
)
def test_answer_event_is_told_apart_from_other_events(event: bytes, answers: bool) -> None:
    assert bool(ANSWER.search(event)) is answers


async def said(*pieces: bytes, asked: bytes = ASKED, whole: bool = True) -> bytes:
    """What the client reads of these pieces; without `whole` the last is not said to be it."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    posted = Posted.from_body(asked)
    own = SdkSend({}, send, posted.number if posted else None)
    await own(HEAD)
    for number, piece in enumerate(pieces, 1):
        more = not whole or number < len(pieces)
        await own({"type": "http.response.body", "body": piece, "more_body": more})
    await own.end()
    assert [bool(each.get("more_body")) for each in sent[1:]] == [True] * (len(sent) - 2) + [False]
    return b"".join(each["body"] for each in sent[1:])


async def test_stream_with_its_answer_is_unchanged() -> None:
    assert await said(PROGRESS, OWN_ANSWER, b"") == PROGRESS + OWN_ANSWER


@cases("whole", [True, False])
async def test_stream_that_ends_before_its_answer_gets_an_error_event(whole: bool) -> None:
    told = await said(PROGRESS, QUESTION, b"", whole=whole)
    assert told.startswith(PROGRESS + QUESTION)
    assert ANSWER.search(told.removeprefix(PROGRESS + QUESTION))
    assert b'"id":7,"error"' in told


async def test_stream_of_a_notification_gets_no_error_event() -> None:
    assert await said(b"", asked=b'{"jsonrpc":"2.0","method":"notifications/initialized"}') == b""


def told(said: list[Message]) -> tuple[int, bytes]:
    return said[0]["status"], b"".join(each.get("body", b"") for each in said[1:])


async def test_error_of_the_sdk_does_not_repeat_its_request() -> None:
    """And has the length of what is told in its place."""
    quoted = b'{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"%b"}}'
    for status, before, after in (
        (400, quoted % (-32700, b"Parse error: secret"), quoted % (-32700, b"Parse error")),
        (400, quoted % (-32602, b"Validation error: secret"), quoted % (-32600, NO_MESSAGE.encode())),
        (400, quoted % (-32600, b"Missing session"), quoted % (-32600, b"Missing session")),
        (400, b"no JSON", b"no JSON"),
        (400, b"[]", b"[]"),
        (400, b'{"error":{}}', b'{"error":{}}'),
        (404, quoted % (-32700, b"Parse error: secret"), quoted % (-32700, b"Parse error: secret")),
    ):
        said: list[Message] = []
        called: list[int] = []

        async def send(message: Message, said: list[Message] = said) -> None:
            said.append(message)

        request = Request({"type": "http"})
        own = SdkSend(request.scope, send, 7)
        call_when_sent(request, lambda called=called: called.append(1))
        head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(before))]
        await own({"type": "http.response.start", "status": status, "headers": head})
        assert (len(said), called) == (0 if status == 400 else 1, [])
        await own({"type": "http.response.body", "body": before})
        await own.end()
        assert told(said) == (status, after)
        assert dict(said[0]["headers"])[b"content-length"] == b"%d" % len(after)
        assert called == [1]


async def test_answer_to_a_message_of_a_batch_is_an_event_with_its_id() -> None:
    """202 and the answer to a notification are none; events are passed on as they are."""
    json_head: Message = {"type": "http.response.start", "status": 400, "headers": [(b"content-type", b"application/json")]}
    accepted: Message = {**json_head, "status": 202}
    busy: Message = {**json_head, "status": 503}
    whole = b'{"jsonrpc":"2.0","id":null,"result":{}}'
    for number, head, bodies, events in (
        (7, json_head, [whole[:9], whole[9:]], [{"jsonrpc": "2.0", "id": 7, "result": {}}]),
        (7, json_head, [b" Not so.\n"], [(7, INVALID_REQUEST, "Not so.")]),
        (7, busy, [b"[1]"], [(7, INTERNAL_ERROR, "[1]")]),
        (7, accepted, [b"x"], []),
        (None, json_head, [whole], []),
        (7, HEAD, [OWN_ANSWER, b"", PROGRESS], [OWN_ANSWER, PROGRESS]),
    ):
        said: list[Message] = []

        async def send(message: Message, said: list[Message] = said) -> None:
            said.append(message)

        part = PartSend(EventResponse(send), number)
        await part(head)
        for left, body in enumerate(bodies, 1 - len(bodies)):
            await part({"type": "http.response.body", "body": body, **({"more_body": True} if left else {})})
        read: list[Any] = [each["body"] for each in said[1:]]
        if head is not HEAD:
            read = [json.loads(each.partition(b"data: ")[2]) for each in read]
            read = [
                (each["id"], each["error"]["code"], each["error"]["message"]) if "error" in each else each for each in read
            ]
        assert read == events
        assert [each["more_body"] for each in said[1:]] == [True] * len(events)


async def test_events_end_with_the_answer_and_refusals_say_when_to_come_again() -> None:
    said: list[Message] = []

    async def send(message: Message) -> None:
        said.append(message)

    for events, expected in (([b": ping"], (200, b": ping" + frame_event(b"{}"))), ([], (404, b"{}"))):
        response = EventResponse(send)
        for each in events:
            await response.write(each)
        await response.answer(b"{}", 404)
        await response.write(b"late")
        assert (told(said), said[-1]["more_body"], response.is_ended) == (expected, False, True)
        said.clear()
    assert [(each.status_code, each.headers.get("retry-after")) for each in (refusal(1, "x"), refusal(1, "x", 503))] == [
        (400, None),
        (503, "1"),
    ]
    initialize = b'{"jsonrpc":"2.0","id":1,"method":"initialize"}'
    for body, code in (
        (None, INVALID_REQUEST),
        (b"{", PARSE_ERROR),
        (b"[" * 9999, PARSE_ERROR),
        (b"[]", INVALID_REQUEST),
        (ASKED, INVALID_REQUEST),
        (initialize, None),
    ):
        refused = refuse_unless_initialize(body, Posted.from_body(body) if body else None)
        assert (json.loads(bytes(refused.body))["error"]["code"] if refused else None) == code
