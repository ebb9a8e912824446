"""How each backend's protocol is read and answered, as far as a liar in its place has to know it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Protocol

import hiredis

from tests.chaos.faults import Said

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
REASONS = {200: "OK", 400: "Bad Request", 429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable"}


class Language(Protocol):
    """Of one connection: counts the requests in what a client sends, and words the answer to each."""

    def requests(self, data: bytes) -> int: ...

    def answer(self, said: Said) -> bytes: ...


class Http:
    """One request after the other, bodies with their length."""

    def __init__(self, backend: str) -> None:
        self._words = WORDS[backend]
        self._unread = b""
        self._answered = 0

    def requests(self, data: bytes) -> int:
        self._unread += data
        return sum(1 for _ in self._whole())

    def _whole(self) -> Iterator[bytes]:
        while (end := self._unread.find(b"\r\n\r\n")) >= 0:
            length = LENGTH.search(self._unread, 0, end)
            end += 4 + (int(length[1]) if length else 0)
            if len(self._unread) < end:
                return
            request, self._unread = self._unread[:end], self._unread[end:]
            yield request

    def answer(self, said: Said) -> bytes:
        """Nonsense is by turns JSON that ends early and JSON about something else."""
        self._answered += 1
        if said is Said.NONSENSE:
            return _response(200, b'{"took": 3, "responses": [{"hi' if self._answered % 2 else b'{"answer": [42, null]}')
        status, kind, body = self._words[said]
        return _response(status, json.dumps(body).encode(), kind)


class Resp:
    """Redis's."""

    SAYINGS = {
        Said.BROKEN: b"-LOADING Redis is loading the dataset in memory\r\n",
        Said.THROTTLED: b"-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n",
        Said.NONSENSE: b"\x00\xff<html>\r\n",
    }

    def __init__(self) -> None:
        self._reader = hiredis.Reader()

    def requests(self, data: bytes) -> int:
        self._reader.feed(data)
        return sum(1 for _ in iter(self._reader.gets, False))

    def answer(self, said: Said) -> bytes:
        return self.SAYINGS[said]


Words = dict[Said, tuple[int, str, object]]
WORDS: dict[str, Words] = {
    "opensearch": {
        Said.BROKEN: (
            503,
            "",
            {"error": {"type": "cluster_block_exception", "reason": "state not recovered"}, "status": 503},
        ),
        Said.THROTTLED: (
            429,
            "",
            {"error": {"type": "rejected_execution_exception", "reason": "queue capacity"}, "status": 429},
        ),
    },
    "dynamodb": {
        Said.BROKEN: (500, "", {"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError", "message": "Internal"}),
        Said.THROTTLED: (
            400,
            "",
            {"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException", "message": "Rate exceeded"},
        ),
    },
    "bedrock": {
        Said.BROKEN: (500, "InternalServerException", {"message": "The system encountered an unexpected error."}),
        Said.THROTTLED: (429, "ThrottlingException", {"message": "Too many requests, please wait before trying again."}),
    },
}


def language_of(backend: str) -> Language:
    return Resp() if backend == "redis" else Http(backend)


def _response(status: int, body: bytes, kind: str = "") -> bytes:
    lines = [f"HTTP/1.1 {status} {REASONS[status]}", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    lines += [f"x-amzn-ErrorType: {kind}"] if kind else []
    return "\r\n".join([*lines, "", ""]).encode() + body
