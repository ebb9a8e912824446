"""A stream that answers a request ends with its answer.

The SDK ends the streams of a session that ends as if there were nothing more to be said. A client then waits for an answer
that does not come, or takes the empty stream for one.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from mcp_types import INTERNAL_ERROR
from pydantic_core import from_json, to_json
from starlette.responses import JSONResponse
from starlette.types import Message, Send

from server.transport.http.bodies import Posted
from server.transport.http.responses import RETRY_AFTER_SECONDS

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
NO_SESSION = "A session begins with initialize; what follows names it in Mcp-Session-Id."
NO_MESSAGE = "Body must be a single JSON-RPC request or notification object"


def refusal(code: int, message: str, status: int = 400) -> JSONResponse:
    retry = {"Retry-After": str(RETRY_AFTER_SECONDS)} if status == 503 else None
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}, status, retry)


def no_initialize(body: bytes | None, posted: Posted | None) -> JSONResponse | None:
    """Returns what is wrong with a request that begins a session, or None. `body` is None for one that has none."""
    if body is None:
        return refusal(INVALID_REQUEST, NO_SESSION)
    if posted is not None:
        return None if posted.method == "initialize" else refusal(INVALID_REQUEST, NO_SESSION)
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return refusal(PARSE_ERROR, "Parse error")
    if not isinstance(message, dict):
        return refusal(INVALID_REQUEST, NO_MESSAGE)
    return refusal(INVALID_REQUEST, NO_SESSION)


class PlainRefusals:
    """A `send` that passes everything on but the validator's words in a 400. The head of that response is held back until
    its body is known, since the length stands in the head."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._head: Message | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 400:
            self._head = message
        elif self._head is not None:
            head, self._head = self._head, None
            await self._refuse(head, message)
        else:
            await self._send(message)

    async def _refuse(self, head: Message, message: Message) -> None:
        body = _plain_words(message.get("body", b""))
        others = [(name, value) for name, value in head["headers"] if name != b"content-length"]
        await self._send({**head, "headers": [*others, (b"content-length", str(len(body)).encode())]})
        await self._send({**message, "body": body})


def _plain_words(body: bytes) -> bytes:
    """Says in one sentence what the SDK says with what it was sent; anything else stays as it is."""
    try:
        answer: Any = json.loads(body)
        message = answer["error"]["message"]
    except (ValueError, TypeError, KeyError):
        return body
    if message.startswith("Parse error"):
        answer["error"]["message"] = "Parse error"
    elif message.startswith("Validation error"):
        answer["error"] = {"code": INVALID_REQUEST, "message": NO_MESSAGE}
    return json.dumps(answer, separators=(",", ":")).encode()


ANSWER = re.compile(rb'(?:^|\n)data: ?\{"jsonrpc": ?"2\.0", ?"id": ?(\d+|"(?:[^"\\]|\\.)*"), ?"(?:result|error)"')
"""How an event begins that answers a request, as this server writes it."""
ENDED = "The server has ended before it answered."
END_SECONDS = 0.1


class Answered:
    """A `send` for the response to one POST. Where that is a stream which ends without the answer to `asked`, it ends with
    an error."""

    def __init__(self, send: Send, asked: bytes) -> None:
        self._send = send
        self._asked = asked
        self._streams = self._told = self._whole = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._streams = is_stream(message.get("headers", ()))
        elif self._streams and not self._told:
            message = self._seen(message)
        self._whole = message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)

    async def end(self) -> None:
        """Ends a stream that was only begun, by an exception or because its task is cancelled."""
        if self._streams and not self._whole:
            with suppress(TimeoutError):
                async with asyncio.timeout(END_SECONDS):  # whoever reads nothing does not read the end either
                    await self({"type": "http.response.body", "body": b"", "more_body": False})

    def _seen(self, message: Message) -> Message:
        body = message.get("body", b"")
        self._told = is_answer(body)
        if self._told or message.get("more_body"):
            return message
        return {**message, "body": body + error_event(self._asked, ENDED)}


LONGEST_BEGINNING = 1024
"""Of a line of a stream, within which it says whom it answers."""


class Unanswered:
    """The requests of one POST, a batch perhaps, that have no whole answer yet on the stream that it is answered by."""

    def __init__(self, asked: bytes) -> None:
        self._ids = {json.dumps(number): number for number in _ids_of(asked)}
        self._line = b""
        self._within = False

    def see(self, piece: bytes) -> None:
        """Takes the next piece, wherever the stream was cut. Who is answered is so at the end of its line."""
        first, *rest = piece.split(b"\n")
        for line in (None, *rest):
            if line is not None:
                if found := ANSWER.match(self._line):
                    self._ids.pop(json.dumps(from_json(found[1])), None)
                self._line = b""
            self._line += (first if line is None else line)[: LONGEST_BEGINNING - len(self._line)]
        self._within = bool(self._line)

    def errors(self, why: str) -> bytes:
        """Returns the events that answer all that are left."""
        events = [b"event: message\r\ndata: %b\r\n\r\n" % _error(number, why) for number in self._ids.values()]
        return (b"\r\n\r\n" if self._within and events else b"") + b"".join(events)


def is_stream(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(name.lower() == b"content-type" and value.startswith(b"text/event-stream") for name, value in headers)


def is_answer(body: bytes) -> bool:
    """Whether an answer begins in this piece of a stream; its other events are requests and notifications."""
    return ANSWER.search(body) is not None


def error_event(asked: bytes, why: str) -> bytes:
    """Returns what says so on the stream that was to answer; nothing where a request was not what was `asked`."""
    error = error_of(asked, why)
    return b"" if error is None else b"event: message\r\ndata: %b\r\n\r\n" % error


def error_of(asked: bytes, why: str) -> bytes | None:
    """Answers the request by an error; None for what is none."""
    ids = [] if asked.lstrip()[:1] == b"[" else _ids_of(asked)
    return _error(ids[0], why) if ids else None


def _error(number: int | str, why: str) -> bytes:
    return to_json({"jsonrpc": "2.0", "id": number, "error": {"code": INTERNAL_ERROR, "message": why}})


def _ids_of(asked: bytes) -> list[int | str]:
    try:
        message = from_json(asked)
    except ValueError:
        return []
    messages = message if isinstance(message, list) else [message]
    numbers = [each.get("id") for each in messages if isinstance(each, dict) and "method" in each]
    return [number for number in numbers if isinstance(number, int | str)]
