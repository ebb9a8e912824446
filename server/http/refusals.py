"""What the SDK's Streamable HTTP lets in or says that it should not.

It opens a session for whatever comes without one, be it a stray GET, and keeps it for half an hour: some thousands of
those and nobody else gets one. And to what is no JSON-RPC message it answers with its validator's own words.
"""

from __future__ import annotations

import json
from typing import Any

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from server.http.answers import plain
from server.http.bodies import read_body

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
NO_SESSION = "A session begins with initialize; what follows names it in Mcp-Session-Id."
NO_MESSAGE = "Body must be a single JSON-RPC request or notification object"


def refusal(code: int, message: str) -> JSONResponse:
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}, 400)


def begins_session(scope: Scope) -> bool:
    """A request of the 2025 era that names no session, so that the SDK would open one."""
    headers = Headers(scope=scope)
    version = headers.get("mcp-protocol-version")
    return "mcp-session-id" not in headers and (version is None or version in HANDSHAKE_PROTOCOL_VERSIONS)


async def initialising(scope: Scope, receive: Receive, send: Send, most: int) -> Receive | None:
    """The request's body, to be read again, when it is an initialize. Else None, and the request has been answered."""
    if scope["method"] != "POST":
        await refusal(INVALID_REQUEST, NO_SESSION)(scope, receive, send)
        return None
    body = await read_body(receive, most)
    if body is None:
        await plain(413, f"A message has at most {most} bytes.")(scope, receive, send)
        return None
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        await refusal(PARSE_ERROR, "Parse error")(scope, receive, send)
        return None
    if not isinstance(message, dict):
        await refusal(INVALID_REQUEST, NO_MESSAGE)(scope, receive, send)
        return None
    if message.get("method") != "initialize":
        await refusal(INVALID_REQUEST, NO_SESSION)(scope, receive, send)
        return None
    return _again(body, receive)


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


def _again(body: bytes, receive: Receive) -> Receive:
    read = False

    async def receiving() -> Message:
        nonlocal read
        if read:
            return await receive()
        read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving
