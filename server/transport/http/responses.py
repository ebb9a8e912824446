"""Responses: plain text, JSON-RPC errors and SSE events; callbacks for sent answers, and the wait for running work.

When a session ends, the SDK ends its streams without an answer. `SdkSend` adds an error, or clients would wait for ever."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import anyio
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, JSONRPCError, RequestId
from pydantic_core import from_json, to_json
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import Message, Scope, Send

from server.transport.messages import Json, Posted, error_for, read_message

RETRY_AFTER_SECONDS = 1
ACCEPTED = 202
HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
)
_SCOPE = "manga.answer"
_on_sent: ContextVar[Callable[[], None] | None] = ContextVar("manga.answer", default=None)
NO_MESSAGE = "Body must be a single JSON-RPC request or notification object"


def plain(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> PlainTextResponse:
    return PlainTextResponse(f"{sentence}\n", status, headers)


def busy(sentence: str) -> PlainTextResponse:
    return plain(503, sentence, {"Retry-After": str(RETRY_AFTER_SECONDS)})


def frame_event(text: bytes) -> bytes:
    """Returns an SSE event with `text` as its data. `text` must have no line ends, like JSON that pydantic writes."""
    return b"event: message\r\ndata: %b\r\n\r\n" % text


def dump_answer(number: RequestId | None, name: bytes, value: bytes) -> bytes:
    """Returns the answer to request `number` with the JSON `value`. `name` is "result" or "error"."""
    return b'{"jsonrpc":"2.0","id":%b,"%b":%b}' % (to_json(number), name, value)


class EventResponse:
    """A response that begins as SSE with its first event (`write`), or is one JSON answer (`answer`)."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._writing = asyncio.Lock()
        self.has_begun = self.is_ended = False

    async def write(self, events: bytes, *, more: bool = True) -> None:
        """Writes events, and ends the response if `more` is False. Does nothing if the response has ended."""
        async with self._writing:
            if self.is_ended:
                return
            self.is_ended = not more
            if not self.has_begun:
                self.has_begun = True
                await self._send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            await self._send({"type": "http.response.body", "body": events, "more_body": more})

    async def answer(self, body: bytes, status: int) -> None:
        """Ends the response with the JSON `body`: as its last event, or, if no event was written, as JSON with `status`."""
        async with self._writing:
            self.is_ended = True
            if self.has_begun:
                body = frame_event(body)
            else:
                headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
                await self._send({"type": "http.response.start", "status": status, "headers": headers})
            await self._send({"type": "http.response.body", "body": body, "more_body": False})


def call_when_sent(request: Request | None, on_sent: Callable[[], None]) -> None:
    """Registers a callback to call once the request's answer is on the socket: never on stdio, where `request` is None."""
    _on_sent.set(on_sent)
    if request is not None:
        request.scope[_SCOPE] = on_sent


def notify_sent() -> None:
    """Calls the callback that was registered in the current context, if any. For answers that are sent on a stream."""
    if (on_sent := _on_sent.get()) is not None:
        _on_sent.set(None)
        on_sent()


async def wait_until_idle(is_busy: Callable[[], bool], seconds: float = 0.3) -> bool:
    """Waits at most `seconds` until `is_busy()` is False; returns False if it still is True. Take no new work meanwhile."""
    with anyio.move_on_after(seconds):
        while is_busy():  # noqa: ASYNC110 - polls many streams, each with a count of its own
            await asyncio.sleep(0.01)
    return not is_busy()


def refusal(code: int, message: str, status: int = 400) -> JSONResponse:
    retry = {"Retry-After": str(RETRY_AFTER_SECONDS)} if status == 503 else None
    return JSONResponse(dump_error(error_for(message, None, code)), status, retry)


def refuse_unless_initialize(body: bytes | None, posted: Posted | None) -> JSONResponse | None:
    """Returns the 400 response to a request without a session id, which may have no body; None for `initialize`."""
    if posted is not None and posted.method == "initialize":
        return None
    if body is not None and posted is None:
        try:
            message = read_message(body)
        except (ValueError, RecursionError):
            return refusal(PARSE_ERROR, "Parse error")
        if not isinstance(message, dict):
            return refusal(INVALID_REQUEST, NO_MESSAGE)
    return refusal(INVALID_REQUEST, "A session begins with initialize; what follows names it in Mcp-Session-Id.")


def _plain_words(body: bytes) -> bytes:
    """Replaces an SDK error message that quotes the request. Returns any other body unchanged."""
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
"""Matches the beginning of an SSE event that answers a request, as this server writes it; group 1 is the id."""
ENDED = "The server has ended before it answered."
END_SECONDS = 0.1
LONGEST_BEGINNING = 1024
"""Maximum bytes kept of each line, enough for the id of the request that the line answers."""


class SdkSend:
    """An ASGI `send` for the SDK's response to request `number`, which is None if no answer is due.

    Replaces an error message that quotes the request. Adds an error event to an SSE stream that would end without the
    answer. After the last message, calls the callback that was registered in `scope`."""

    def __init__(self, scope: Scope, send: Send, number: RequestId | None = None) -> None:
        self._scope = scope
        self._send = send
        self._number = number
        self._delayed: Message | None = None
        """The head of a 400 response, delayed until the length of its body is known."""
        self._is_stream = self._is_answered = self._is_whole = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._is_stream = is_stream(message.get("headers", ()))
            self._delayed = message if message["status"] == 400 else None
            if self._delayed is None:
                await self._send(message)
            return
        body = message.get("body", b"")
        self._is_whole = not message.get("more_body")
        if (head := self._delayed) is not None:
            self._delayed, body = None, _plain_words(body)
            others = [(name, value) for name, value in head["headers"] if name != b"content-length"]
            await self._send({**head, "headers": [*others, (b"content-length", b"%d" % len(body))]})
        elif self._is_stream and not self._is_answered and self._number is not None:
            self._is_answered = ANSWER.search(body) is not None
            if self._is_whole and not self._is_answered:
                body += frame_event(_error(self._number, ENDED))
        await self._send({**message, "body": body})
        if self._is_whole and (on_sent := self._scope.pop(_SCOPE, None)) is not None:
            on_sent()

    async def end(self) -> None:
        """Ends an SSE stream that an exception or a cancellation interrupted."""
        if self._is_stream and not self._is_whole:
            with anyio.move_on_after(END_SECONDS):  # a client that does not read would block it
                await self({"type": "http.response.body", "body": b"", "more_body": False})


def dump_error(error: JSONRPCError) -> Json:
    return error.model_dump(by_alias=True, mode="json", exclude_unset=True)


@dataclass(eq=False)
class PartSend:
    """An ASGI `send` for the response to one message of a batch, the one with the id `number`. Passes SSE events on, and
    turns a JSON response into an event."""

    response: EventResponse
    number: Any
    _status: int = ACCEPTED
    _is_stream: bool = False
    _body: bytes = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status, self._is_stream = message["status"], is_stream(message["headers"])
            return
        body = message.get("body", b"")
        if self._is_stream:
            if body:
                await self.response.write(body)
            return
        self._body += body
        if not message.get("more_body", False) and self._status != ACCEPTED and self.number is not None:
            await self.response.write(frame_event(to_json(self._answer())))

    def _answer(self) -> Json:
        try:
            answer: Any = json.loads(self._body)
        except ValueError:
            answer = None
        if isinstance(answer, dict) and "jsonrpc" in answer:
            return {**answer, "id": self.number}
        code = INTERNAL_ERROR if self._status == 503 else INVALID_REQUEST
        return dump_error(error_for(self._body.decode("utf-8", "replace").strip(), self.number, code))


class Unanswered:
    """The requests of a POST, single or batch, that its SSE stream has not answered yet."""

    def __init__(self, body: bytes) -> None:
        self._ids = {json.dumps(number): number for number in _request_ids(body)}
        self._line = b""

    def feed(self, piece: bytes) -> None:
        """Reads the next chunk of the stream, which may end anywhere, and removes the requests that are answered."""
        first, *rest = piece.split(b"\n")
        self._line += first[: LONGEST_BEGINNING - len(self._line)]
        for line in rest:
            if found := ANSWER.match(self._line):
                self._ids.pop(json.dumps(from_json(found[1])), None)
            self._line = line[:LONGEST_BEGINNING]

    def errors(self, why: str) -> bytes:
        """Returns SSE events that answer the remaining requests with an error whose message is `why`."""
        events = b"".join(frame_event(_error(number, why)) for number in self._ids.values())
        return b"\r\n\r\n" + events if self._line and events else events


def is_stream(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(name.lower() == b"content-type" and value.startswith(b"text/event-stream") for name, value in headers)


def error_of(body: bytes, why: str) -> bytes | None:
    """Returns the JSON-RPC error that answers the request in `body`; None unless `body` is a single request."""
    ids = [] if body.lstrip()[:1] == b"[" else _request_ids(body)
    return _error(ids[0], why) if ids else None


def _error(number: RequestId, why: str) -> bytes:
    return to_json({"jsonrpc": "2.0", "id": number, "error": {"code": INTERNAL_ERROR, "message": why}})


def _request_ids(body: bytes) -> list[RequestId]:
    try:
        message = from_json(body)
    except ValueError:
        return []
    messages = message if isinstance(message, list) else [message]
    numbers = [each.get("id") for each in messages if isinstance(each, dict) and "method" in each]
    return [number for number in numbers if isinstance(number, int | str) and not isinstance(number, bool)]
