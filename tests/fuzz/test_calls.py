"""Arbitrary JSON as tool calls over every HTTP transport, with a healthy client on the same server throughout."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fuzzing import TEXT, VALUES, Answer, check_harmless, encoded, examples, exchange, http
from tests.support.raw import BOTH, INITIALIZE, INITIALIZED, VERSION_2025, in_2026
from tests.support.serving import Serving
from tests.support.sse import SseClient
from tools.registry import TOOLS

NAMES = st.sampled_from([tool.name for tool in TOOLS])
PROPERTIES = st.sampled_from(sorted({name for tool in TOOLS for name in tool.input_schema["properties"]}))
ARGUMENTS = st.dictionaries(PROPERTIES | TEXT, VALUES, max_size=6) | VALUES
FIELDS = ["sessionId", "turnId", "userId", "turnBudgetMs", "tokenBudget", "expectedCalls", "idempotencyKey", "userToken"]
META_KEYS = st.sampled_from([f"com.mangaassist/{field}" for field in FIELDS] + ["traceparent", "tracestate", "baggage"])
META = st.dictionaries(META_KEYS | TEXT, VALUES, max_size=5)
STATED = [
    "x-session-id",
    "x-turn-id",
    "x-user-id",
    "x-turn-budget-ms",
    "x-token-budget",
    "x-expected-calls",
    "idempotency-key",
    "traceparent",
    "baggage",
    "authorization",
    "x-forwarded-for",
]
HEADER_TEXT = st.text(st.characters(max_codepoint=255, exclude_categories=["Cc"]), max_size=60)
HEADERS = st.dictionaries(st.sampled_from(STATED), HEADER_TEXT, max_size=4)
EXPECTED = {"VALIDATION_ERROR", "FORBIDDEN", "NOT_FOUND", "BUDGET_EXHAUSTED", "TIMEOUT", "SERVER_BUSY", "CIRCUIT_OPEN"}
"""What bad arguments and a busy machine may come to. INTERNAL_ERROR is not among them."""


def check_result(answer: Any) -> None:
    """A result that succeeded or that says what to do, or a JSON-RPC error for what is no call."""
    if "error" in answer:
        assert answer["error"]["code"] in (-32700, -32600, -32602, -32020), answer
        return
    result = answer["result"]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    if result["isError"]:
        error = result["structuredContent"]["error"]
        assert error["name"] in EXPECTED, error
        if error["name"] == "VALIDATION_ERROR":
            violations = error["data"]["details"]["violations"]
            assert violations
            assert all(v["path"].startswith("$") and v["message"] and v["fix"] for v in violations)


def healthy(port: int) -> None:
    """Another client's call is answered as ever."""
    body, headers = in_2026({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": WELL})
    answer = exchange(port, http("POST", "/mcp", headers, encoded(body)), "POST")
    assert answer is not None
    assert answer.json()["result"]["structuredContent"]["title_id"] == "manga-002001"


WELL = {"name": "get_manga_details", "arguments": {"title_id": "manga-002001"}}


@given(name=NAMES, arguments=ARGUMENTS, meta=META, headers=HEADERS)
@examples(150)
def test_any_call_of_the_2026_era_is_answered(port: int, name: str, arguments: Any, meta: Any, headers: Any) -> None:
    """With a result or a JSON-RPC error, and nothing else; so is the next, well-formed one."""
    params = {"name": name, "arguments": arguments, "_meta": meta}
    body, own = in_2026({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    answer = exchange(port, http("POST", "/mcp", {**headers, **own}, encoded(body)), "POST")
    assert answer is not None
    check_harmless(Answer(answer.status, {}, b""))
    if answer.status == 200:
        check_result(answer.json())
    else:
        check_harmless(answer)
        assert answer.status in (400, 404, 413)
    healthy(port)


@pytest.fixture(scope="module")
def session(port: int) -> dict[str, str]:
    """A Streamable HTTP session of the 2025 era."""
    opened = exchange(port, http("POST", "/mcp", BOTH, encoded(INITIALIZE)), "POST")
    assert opened is not None
    headers = {**BOTH, "mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": VERSION_2025}
    exchange(port, http("POST", "/mcp", headers, encoded(INITIALIZED)), "POST")
    return headers


@given(name=NAMES, arguments=ARGUMENTS, meta=META, headers=HEADERS)
@examples(100)
def test_any_call_of_a_2025_session_is_answered(
    port: int, session: dict[str, str], name: str, arguments: Any, meta: Any, headers: Any
) -> None:
    """The same, and the session goes on."""
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments, "_meta": meta},
    }
    answer = exchange(port, http("POST", "/mcp", {**headers, **session}, encoded(body)), "POST")
    assert answer is not None
    check_harmless(Answer(answer.status, {}, b""))
    if answer.status == 200:
        check_result(answer.json())
    else:
        check_harmless(answer)
        assert answer.status in (400, 413)
    healthy(port)


def conversation(server: Serving, talk: Callable[[SseClient], Any]) -> None:
    """Runs `talk` with an open stream, which has to be usable at its end."""
    port = int(server.url.rpartition(":")[2])

    @asynccontextmanager
    async def opened() -> AsyncIterator[SseClient]:
        async with SseClient.to(port) as client:
            yield client
            assert not (await client.call(tool=WELL["name"], arguments=WELL["arguments"]))["isError"]
            assert client.ended is None

    async def run() -> None:
        async with opened() as client:
            await talk(client)

    asyncio.run(run())


@given(calls=st.lists(st.tuples(NAMES, ARGUMENTS, META), min_size=5, max_size=12))
@examples(12)
def test_any_calls_on_an_sse_stream_are_answered(server: Serving, calls: list[tuple[str, Any, Any]]) -> None:
    """Each is taken and answered, or refused at its POST; the stream outlives them all."""

    async def talk(client: SseClient) -> None:
        for number, (name, arguments, meta) in enumerate(calls, 1000):
            params = {"name": name, "arguments": arguments, "_meta": meta}
            body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            answer = await client.post(encoded(body))
            assert answer.status in (202, 400, 413), answer
            if answer.status == 202:
                check_result(await client.answer_to(number))

    conversation(server, talk)


MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2.0, None]),
        "id": st.integers() | TEXT | VALUES,
        "method": st.sampled_from(["tools/call", "tools/list", "initialize", "ping", "notifications/cancelled", "x"]) | TEXT,
        "params": st.dictionaries(st.sampled_from(["name", "arguments", "_meta", "cursor", "requestId"]), VALUES) | VALUES,
        "result": VALUES,
        "error": VALUES,
    },
)


@given(messages=st.lists(MESSAGES | VALUES, min_size=5, max_size=12))
@examples(12)
def test_any_messages_on_an_sse_stream_leave_it_usable(server: Serving, messages: list[Any]) -> None:
    """Whatever JSON is posted, in or out of place."""

    async def talk(client: SseClient) -> None:
        for message in messages:
            answer = await client.post(encoded(message))
            assert answer.status in (202, 400, 413), answer

    conversation(server, talk)
