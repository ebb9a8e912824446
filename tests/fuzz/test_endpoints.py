"""Arbitrary methods, paths, headers and bodies at every endpoint, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fuzzing import TEXT, VALUES, check_harmless, encoded, examples, exchange, http
from tests.support.raw import BOTH, INITIALIZE, VERSION_2025, VERSION_2026

PATHS = [
    "/mcp",
    "/sse",
    "/messages/",
    "/messages/?session_id=",
    "/sessions/",
    "/readyz",
    "/healthz",
    "/metrics",
    "/",
    "/unknown",
]
SAFE = st.characters(min_codepoint=33, max_codepoint=126)
TARGETS = st.builds(
    lambda path, rest: path + rest,
    st.sampled_from(PATHS),
    st.just("")
    | st.text(SAFE, max_size=30)
    | st.sampled_from(["%00", "%0a", "%ff%fe", "..%2f..%2fetc", "//", "?" * 50, "a" * 5000]),
)
METHODS = st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "X-ODD"])
NAMES = st.sampled_from(
    [
        "accept",
        "authorization",
        "baggage",
        "content-encoding",
        "content-type",
        "cookie",
        "expect",
        "forwarded",
        "host",
        "idempotency-key",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "origin",
        "range",
        "traceparent",
        "upgrade",
        "x-forwarded-for",
        "x-forwarded-proto",
        "x-session-id",
        "x-turn-budget-ms",
        "x-token-budget",
        "x-user-id",
    ]
)
VALUE = st.sampled_from(
    [
        "",
        "*/*",
        "application/json",
        "application/json, text/event-stream",
        "text/event-stream",
        "bytes=0-5",
        "gzip",
        "http://[half",
        "http://127.0.0.1",
        "evil.example",
        "null",
        "websocket",
        VERSION_2025,
        VERSION_2026,
        "1999-01-01",
        "Bearer ",
        "Bearer \u00ff",
    ]
) | st.text(st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=60)
BODIES = st.binary(max_size=200) | VALUES.map(encoded) | st.sampled_from([encoded(INITIALIZE), b"[]", b"{", b"[" * 100_000])


@given(method=METHODS, target=TARGETS, headers=st.dictionaries(NAMES, VALUE, max_size=5), body=BODIES)
@examples(250)
def test_any_request_is_answered_harmlessly(
    port: int, method: str, target: str, headers: dict[str, str], body: bytes
) -> None:
    """No 5xx but 503, nothing of the inside, whatever is asked of whom and how."""
    answer = exchange(port, http(method, target, headers, body), method, stream=_may_stream(method, target, headers))
    if answer is not None:
        check_harmless(answer)


def _may_stream(method: str, target: str, headers: dict[str, str]) -> bool:
    """An SSE stream has no end that one could wait for."""
    asked = "text/event-stream" in headers.get("accept", "") or target.startswith("/sse")
    return method == "GET" and asked


@given(data=st.binary(min_size=1, max_size=300))
@examples(80)
def test_bytes_that_are_no_http_are_refused(port: int, data: bytes) -> None:
    """With 400, or by hanging up."""
    answer = exchange(port, data + b"\r\n\r\n")
    if answer is not None:
        check_harmless(answer)
        assert answer.status >= 400


MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2.0, None]),
        "id": st.integers() | TEXT | VALUES,
        "method": st.sampled_from(["tools/call", "tools/list", "initialize", "ping", "server/discover", "x"]) | TEXT,
        "params": st.dictionaries(st.sampled_from(["name", "arguments", "_meta", "cursor", "protocolVersion"]), VALUES)
        | VALUES,
    },
)


@pytest.mark.parametrize("era", [VERSION_2025, VERSION_2026, "none"])
@given(message=MESSAGES | VALUES, method=st.sampled_from(["tools/call", "tools/list", "ping", "x"]))
@examples(60)
def test_any_message_at_the_streamable_endpoint_is_answered(port: int, era: str, message: Any, method: str) -> None:
    """In each era and in none, with and without a session."""
    headers = {**BOTH, "mcp-method": method} | ({"mcp-protocol-version": era} if era != "none" else {})
    for more in ({}, {"mcp-session-id": "0" * 32}):
        answer = exchange(port, http("POST", "/mcp", {**headers, **more}, encoded(message)), "POST")
        assert answer is not None
        check_harmless(answer)


def test_the_server_answers_as_ever_after_all_that(port: int) -> None:
    """Ready, and its figures can be read."""
    for target in ("/healthz", "/readyz", "/metrics"):
        answer = exchange(port, http("GET", target))
        assert answer is not None
        assert answer.status == 200
