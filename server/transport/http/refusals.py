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
    """What is wrong with a request that begins a session, or None. `body` is None for one that has none."""
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


def in_plain_words(send: Send) -> Send:
    """Passes everything on but the validator's words in a 400."""
    held: list[Message] = []

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 400:
            held.append(message)
            return
        if held:
            start = held.pop()
            message = {**message, "body": _plain_words(message.get("body", b""))}
            length = (b"content-length", str(len(message["body"])).encode())
            await send({**start, "headers": [*(each for each in start["headers"] if each[0] != length[0]), length]})
        await send(message)

    return sending


def _plain_words(body: bytes) -> bytes:
    try:
        answer: Any = json.loads(body)
        said = answer["error"]["message"]
    except (ValueError, TypeError, KeyError):
        return body
    if said.startswith("Parse error"):
        answer["error"]["message"] = "Parse error"
    elif said.startswith("Validation error"):
        answer["error"] = {"code": INVALID_REQUEST, "message": NO_MESSAGE}
    return json.dumps(answer, separators=(",", ":")).encode()
