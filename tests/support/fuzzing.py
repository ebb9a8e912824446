"""Bad input: how it is made, how it is sent byte for byte, and what no answer to it may be."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

LARGE = os.environ.get("MANGA_FUZZ") == "large"
ANSWER_SECONDS = 30.0
CONDITIONS: dict[str, Any] = {
    "status": "finished",
    "min_volumes": 2,
    "max_volumes": 9,
    "from_year": 1990,
    "to_year": 2020,
    "without": ["Gore"],
    "audience": "teen",
    "max_price_jpy": 800,
    "in_stock": True,
    "format": "physical",
    "sort": "newest",
    "offset": 5,
}
"""Arguments that tools share, each as it should be."""
LEAKS = re.compile(
    r"""Traceback|File\ "|site-packages|\b\w+\.(?:py|lua|so)\b|/(?:home|root|tmp|usr|work|var|proc)/
    |\b(?!INTERNAL_ERROR|VALIDATION_ERROR)\w*(?:Error|Exception)\b
    |hiredis|redis-py|sqlite|pydantic|jsonschema|uvicorn|starlette|asyncio|anyio|valkey|0x[0-9a-f]{6,}""",
    re.VERBOSE,
)
"""The inside of a server: paths, names of modules and exceptions, drivers."""

Json = Any


def examples(few: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """So many examples by default, twenty times as many with MANGA_FUZZ=large."""
    return settings(
        max_examples=few * 20 if LARGE else few,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
        derandomize=not LARGE,
    )


ODD_TEXTS = [
    "",
    " ",
    "\x00",
    "\n",
    "\u202eevil\u202c",
    "\u200b",
    "\ufeff",
    "\ud800",
    "\udfff\ud800",
    "ﷺ" * 300,
    "x" * 20_000,
    "é\u0301" * 100,
    "'; DROP TABLE titles;--",
    '") OR 1=1 --',
    "{{7*7}}",
    "%s%n",
    "*:*",
    "manga-000001\n",
    "MNG-DEMO1001\n",
    "rs_aaaaaaaaaaaaaaaa\n",
    "ベルセルク",
    "🦀" * 50,
    "\U000e0001\U000e0041",
]
ODD_TEXT = st.sampled_from(ODD_TEXTS)
TEXT = ODD_TEXT | st.text(max_size=60) | st.text(st.characters(categories=["Cc", "Cf", "Cs", "Lo", "Mn", "So"]), max_size=40)
ODD_NUMBERS = [0, -1, 1, 5, 21, 2**31, 2**63, -(2**64), 10**400, 1.5, 5.0, -0.0, 1e308, 1e-320]
NUMBERS = st.sampled_from(ODD_NUMBERS) | st.floats()
LEAVES = st.none() | st.booleans() | NUMBERS | st.integers() | TEXT
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(TEXT, inner, max_size=6), max_leaves=20
) | st.integers(1, 120).map(lambda depth: nested(depth))


def nested(depth: int) -> Json:
    value: Json = "deep"
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


def encoded(value: Json) -> bytes:
    """As JSON, with whatever JSON does not allow as well: NaN, Infinity, lone surrogates."""
    return json.dumps(value).encode()


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    def json(self) -> Json:
        """The body, or the last message of an event stream."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            lines = [line[5:] for line in self.text.splitlines() if line.startswith("data:") and line[5:].strip()]
            return json.loads(lines[-1])
        return json.loads(self.body)


def exchange(port: int, data: bytes, method: str = "GET", *, stream: bool = False) -> Answer | None:
    """Sends bytes and reads one response; of one with no end (`stream`) only the head. None when the server hung up
    without a word, which is an answer to what is not HTTP."""
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS) as connection:
        try:
            connection.sendall(data)
            response = HTTPResponse(connection, method=method)
            response.begin()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, headers, b"" if stream and response.status == 200 else response.read())
        except (ConnectionError, HTTPException):
            return None


def http(method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> bytes:
    """A request with a Host and the right length, unless `headers` say otherwise."""
    given = {"host": "127.0.0.1", "content-length": str(len(body)), "connection": "close", **(headers or {})}
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body


def check_harmless(answer: Answer) -> None:
    """No 5xx but 503, and nothing of the inside."""
    assert answer.status < 500 or answer.status == 503, (answer.status, answer.text)
    found = LEAKS.search(answer.text)
    assert found is None, (found, answer.text[:2000])
