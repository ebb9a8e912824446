"""The answer to a request is told apart from other events of its stream."""

from __future__ import annotations

from starlette.types import Message

from server.transport.http.responses import ANSWER, SdkSend
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
