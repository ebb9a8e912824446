"""What the SDK's Streamable HTTP lets in or says that it should not.

It opens a session for whatever comes without one, be it a stray GET, and keeps it for half an hour: some thousands of
those and nobody else gets one. And to what is no JSON-RPC message it answers with its validator's own words.
"""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import Message, Send

from server.transport.http.bounds.posted import Posted
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
