"""Bad input and bad manners, one by one: what each is answered, and that nobody else notices."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from contextlib import AsyncExitStack
from typing import Any

from tests.support.cases import cases
from tests.support.fuzzing import check_harmless, encoded, exchange, http
from tests.support.process import serving, until
from tests.support.raw import (
    BOTH,
    INITIALIZE,
    INITIALIZED,
    VERSION_2025,
    Connection,
    ask,
    call,
    head,
    in_2026,
    message,
    post_2026,
    search_once,
)
from tests.support.sse import SseClient

SEARCH, DETAILS, STOCK = "search_manga_catalog", "get_manga_details", "check_inventory"
FIVE_MEGABYTES = b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "' + b"x" * 5 * 2**20 + b'"}}'
PATIENCE = 10.0


async def session_2025(port: int) -> dict[str, str]:
    answer = await ask(port, "POST", "/mcp", INITIALIZE)
    headers = {**BOTH, "mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": VERSION_2025}
    await ask(port, "POST", "/mcp", INITIALIZED, headers)
    return headers


async def healthy(port: int) -> None:
    answer = await post_2026(port, call(DETAILS, {"title_id": "manga-002001"}))
    assert answer["result"]["structuredContent"]["title_id"] == "manga-002001"


NO_MESSAGES = {
    "no JSON": b'{"jsonrpc": "2.0"',
    "nothing": b"",
    "not UTF-8": b"\xff\xfe",
    "a batch": encoded([message("ping"), message("tools/list", number=2)]),
    "an empty batch": b"[]",
    "no JSON-RPC": b'{"hello": "world"}',
    "another version": b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}',
    "an id that is null": b'{"jsonrpc": "2.0", "id": null, "method": "ping"}',
    "an id that is a fraction": b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}',
    "an id that is an object": b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
    "brackets that are not closed": b"[" * 30,
}


@cases("body", NO_MESSAGES.values(), ids=NO_MESSAGES.keys())
async def test_what_is_no_message_is_refused_at_every_door(port: int, body: bytes) -> None:
    """400 with a JSON-RPC error on Streamable HTTP in both eras and without a session, and at the POST of a stream; the
    stream and the session go on."""
    session = await session_2025(port)
    modern = in_2026(message("ping"))[1]
    for headers in (modern, session, BOTH):
        answer = exchange(port, http("POST", "/mcp", headers, body), "POST")
        assert answer is not None
        check_harmless(answer)
        assert answer.status == 400
        assert answer.json()["error"]["code"] in (-32700, -32600, -32602)
    async with SseClient.to(port) as client:
        assert (await client.post(body)).status == 400
        assert not (await client.call(DETAILS, {"title_id": "manga-002001"}))["isError"]
    assert (await ask(port, "POST", "/mcp", message("tools/list"), session)).status == 200


async def test_sessions_that_do_not_exist_are_not_found(port: int) -> None:
    """404, whatever they are called, and nothing is opened under their name."""
    for name in ("0" * 32, "nonsense", "../../etc/passwd", "%00"):
        answer = await ask(port, "POST", f"/messages/?session_id={name}", message("ping"))
        assert answer.status == 404
    unknown = {**BOTH, "mcp-session-id": "0" * 32, "mcp-protocol-version": VERSION_2025}
    for method in ("POST", "GET", "DELETE"):
        assert (await ask(port, method, "/mcp", encoded(message("ping")), unknown)).status == 404
    assert (await ask(port, "POST", "/messages/", message("ping"))).status == 400


async def test_what_begins_no_session_opens_none(port: int) -> None:
    """A stray GET or a call without a session is refused without one being kept for half an hour."""
    for method, body in (("GET", b""), ("DELETE", b""), ("POST", b"{"), ("POST", encoded(call(DETAILS, {})))):
        answer = await ask(port, method, "/mcp", body, {"content-type": "application/json", "accept": "application/json"})
        assert answer.status == 400
        assert "mcp-session-id" not in answer.headers


async def test_bodies_beyond_the_limit_are_413(port: int) -> None:
    """Declared or sent in chunks, at every door that takes a body."""
    session = await session_2025(port)
    modern = in_2026(message("ping"))[1]
    async with SseClient.to(port) as client:
        for target, headers in (("/mcp", modern), ("/mcp", session), ("/mcp", BOTH), (client.messages, BOTH)):
            declared = exchange(port, http("POST", target, {**headers}, FIVE_MEGABYTES), "POST")
            # A server may hang up on what it will not read, so that the client sees no more than that.
            assert declared is None or declared.status == 413
            chunked = {**headers, "transfer-encoding": "chunked"}
            async with Connection.to(port) as connection:
                await connection.send(head("POST", target, chunked))
                await connection.send(b"%x\r\n%b\r\n" % (2**20 + 1, b"x" * (2**20 + 1)))
                assert (await connection.begin()).status == 413
        assert not (await client.call(DETAILS, {"title_id": "manga-002001"}))["isError"]
    await healthy(port)


async def test_only_json_is_taken(port: int) -> None:
    """Another content type is 400 or 415, on a stream and on Streamable HTTP."""
    session = await session_2025(port)
    modern = in_2026(message("ping"))[1]
    body = encoded(message("ping"))
    async with SseClient.to(port) as client:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
            for target, headers in (("/mcp", modern), ("/mcp", session), (client.messages, {})):
                answer = await ask(port, "POST", target, body, {**headers, "content-type": kind})
                assert answer.status in (400, 415), (kind, target, answer)


TOO_LARGE = {
    "one long header": (b"GET /readyz HTTP/1.1\r\nhost: 127.0.0.1\r\nx: " + b"y" * 17_000 + b"\r\n\r\n", {431}),
    "many headers": (b"GET /readyz HTTP/1.1\r\nhost: 127.0.0.1\r\n" + b"a:\r\n" * 101 + b"\r\n", {431}),
    "thousands of headers": (b"GET /sse HTTP/1.1\r\nhost: 127.0.0.1\r\n" + b"a:\r\n" * 60_000 + b"\r\n", {400, 431}),
    "a long query": (b"GET /readyz?" + b"a=1&" * 3000 + b" HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", {414}),
    "a long path": (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", {414}),
    "a head without end": (b"GET /readyz HTTP/1.1\r\nhost: 127.0.0.1\r\n" + b"x: y\r\n" * 50_000, {431}),
}


@cases(("data", "statuses"), TOO_LARGE.values(), ids=TOO_LARGE.keys())
async def test_heads_beyond_the_limit_are_refused(port: int, data: bytes, statuses: set[int]) -> None:
    """Before anything is looked up in them, whether they come in one piece or not."""
    answer = exchange(port, data)
    # A server may hang up on what it will not read, so that the client sees no more than that.
    assert answer is None or answer.status in statuses
    await healthy(port)


async def test_nothing_is_upgraded(port: int) -> None:
    """There is no WebSocket here, nor HTTP/2: what was asked is answered as HTTP/1.1, Host and all."""
    key = {"sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==", "sec-websocket-version": "13"}
    for protocol in ("websocket", "h2c"):
        for target, status in (("/healthz", 200), ("/nothing", 404)):
            headers = {"connection": "upgrade", "upgrade": protocol, **key}
            answer = exchange(port, http("GET", target, headers))
            assert answer is not None
            assert answer.status == status


HEAVY = {
    "marks in two orders": call(SEARCH, {"query": "a" + "\u0301" * 20_000 + "\u0316" * 20_000}),
    "a thousand names": call(SEARCH, {f"a{each}": 1 for each in range(1000)}),
    "a thousand ids": call(STOCK, {"title_ids": ["x"] * 1000}),
    "letters that grow": call(SEARCH, {"query": "\ufdfa" * 40_000}),
    "baggage": call(DETAILS, {"title_id": "manga-002001"}, {"baggage": "," * 250_000}),
}


@cases("request_", HEAVY.values(), ids=HEAVY.keys())
async def test_a_body_full_of_what_is_costly_to_check_holds_up_nobody(port: int, request_: dict[str, Any]) -> None:
    """It is answered within its call's time like any other, instead of occupying the server for seconds or minutes."""
    result = (await post_2026(port, request_))["result"]
    assert result["_meta"]["com.mangaassist/call"]["latencyMs"] < 1000
    await healthy(port)


async def test_a_client_that_goes_away_before_the_end_of_its_body_leaves_nothing_in_the_log(port: int) -> None:
    """At every door that takes a body; the log is looked through when the module's tests are over."""
    session = await session_2025(port)
    for headers in (in_2026(message("ping"))[1], session, BOTH):
        async with Connection.to(port) as connection:
            await connection.send(head("POST", "/mcp", {**headers, "expect": "100-continue"}, 5000) + b"{")
            assert (await connection.begin()).status == 100  # somebody is waiting for the rest
    await healthy(port)


async def test_a_client_that_closes_its_half_is_taken_for_gone(port: int) -> None:
    """FIN is all that tells of a client that went away, so whoever closes its half has hung up: it sees the connection
    close, never half an answer, and its stream's place is free."""
    body, headers = in_2026(call(DETAILS, {"title_id": "manga-002001"}))
    async with Connection.to(port) as connection, SseClient.to(port) as client:
        await connection.ask("POST", "/mcp", body, headers)
        connection.writer.write_eof()
        async with asyncio.timeout(PATIENCE):
            rest = await connection.reader.read()
        assert rest == b"" or rest.endswith(b"}")
        client.stream.writer.write_eof()
        await client.end(PATIENCE)

        async def gone() -> bool:
            return (await client.post(message("ping"))).status == 404

        await until(gone, PATIENCE, "the stream gone")
    await healthy(port)


async def test_a_body_that_comes_slowly_holds_up_nobody_else(port: int) -> None:
    """It is answered once it is whole; others are answered in the meantime."""
    body, headers = in_2026(call(DETAILS, {"title_id": "manga-002001"}))
    data = encoded(body)
    async with Connection.to(port) as slow:
        await slow.send(head("POST", "/mcp", headers, len(data)))
        for start in range(0, len(data), 40):
            await slow.send(data[start : start + 40])
            await healthy(port)
        assert not (await slow.answer()).json()["result"]["isError"]


async def test_requests_in_one_go_are_answered_in_their_order(port: int) -> None:
    """Pipelining, as HTTP/1.1 has it."""
    body, headers = in_2026(call(DETAILS, {"title_id": "manga-002001"}, number=2))
    data = encoded(body)
    async with Connection.to(port) as connection:
        first = head("GET", "/healthz")
        await connection.send(first + head("POST", "/mcp", headers, len(data)) + data + head("GET", "/unknown") + first)
        answers = [await connection.answer() for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 404, 200]
    assert answers[1].json()["id"] == 2


async def test_a_stream_that_nobody_reads_takes_no_memory_without_end() -> None:
    """Thousands of calls whose answers are never read: the process stays within a bound, and others are served."""
    calls, most_bytes = 3000, 40 * 2**20
    async with serving(rate_limit="off") as server, Connection.to(server.port) as stream:
        stream.writer.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await stream.ask("GET", "/sse", headers={"accept": "text/event-stream"})
        await stream.begin()
        endpoint = (await stream.chunk() or b"").decode().split("data: ")[1].strip()
        stream.writer.transport.pause_reading()
        async with Connection.to(server.port) as posts:
            for first in (INITIALIZE, INITIALIZED):
                assert (await posts.request("POST", endpoint, first)).status == 202
            await search_once(server.port)
            before = server.memory_bytes()
            taken = 0
            for number in range(calls):
                body = call(SEARCH, {"query": "high school love story", "max_results": 20}, number=number)
                status = (await posts.request("POST", endpoint, body)).status
                assert status in (202, 404, 503)
                taken += status == 202
        assert 0 < taken < calls
        await healthy(server.port)
        assert server.memory_bytes() - before < most_bytes
        assert "Traceback" not in server.log


async def test_one_stream_too_many_is_told_to_come_back() -> None:
    """503 with Retry-After, under both of its addresses; a place that is given up is free again."""
    async with serving(max_sse_sessions=5) as server, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(SseClient.to(server.port)) for _ in range(5)]
        for target in ("/sse", "/mcp"):
            answer = await ask(server.port, "GET", target, headers={"accept": "text/event-stream"})
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        await healthy(server.port)
        clients[0].stream.close()

        async def there_is_a_place() -> bool:
            async with Connection.to(server.port) as connection:
                await connection.ask("GET", "/sse", headers={"accept": "text/event-stream"})
                return (await connection.begin()).status == 200

        await until(there_is_a_place, PATIENCE, "a place for another stream")
        assert not (await clients[1].call(DETAILS, {"title_id": "manga-002001"}))["isError"]


async def test_more_calls_than_can_be_answered_in_time_are_told_to_come_back() -> None:
    """SERVER_BUSY at once, with how long to wait. (What makes calls last here is a Redis that hangs: each waits its 50 ms
    for it.)"""
    async with serving(max_concurrent_calls=2, rate_limit="off") as server, SseClient.to(server.port) as client:
        os.kill(server.valkey(), signal.SIGSTOP)
        numbers = await asyncio.gather(*(client.start(DETAILS, {"title_id": "manga-002001"}) for _ in range(20)))
        results: list[dict[str, Any]] = [(await client.answer_to(number))["result"] for number in numbers]
        os.kill(server.valkey(), signal.SIGCONT)
        failures = [each["structuredContent"]["error"] for each in results if each["isError"]]
        assert len(failures) < len(results)
        assert {each["name"] for each in failures} == {"SERVER_BUSY"}
        for each in failures:
            assert each["code"] == -32009
            assert each["data"]["retryable"]
            assert each["data"]["retry_after_ms"] > 0

        async def answered() -> bool:
            return not (await client.call(DETAILS, {"title_id": "manga-002001"}))["isError"]

        await until(answered, PATIENCE, "a call answered")


NEWLINES = [
    (DETAILS, {"title_id": "manga-002001\n"}, "$.title_id"),
    (STOCK, {"title_ids": ["manga-002001", "manga-002001\n"]}, "$.title_ids[1]"),
    (STOCK, {"result_set": "rs_abcdefghijklmnop\n"}, "$.result_set"),
    ("lookup_order", {"order_id": "MNG-DEMO1001\n"}, "$.order_id"),
]


@cases(("tool", "arguments", "path"), NEWLINES)
async def test_ids_with_a_newline_at_their_end_are_refused(port: int, tool: str, arguments: Any, path: str) -> None:
    """By the pattern, with the path of the one that is wrong."""
    result = (await post_2026(port, call(tool, arguments)))["result"]
    violations = result["structuredContent"]["error"]["data"]["details"]["violations"]
    assert [(each["path"], each["rule"]) for each in violations] == [(path, "pattern")]


async def test_title_ids_and_a_result_set_are_not_taken_together(port: int) -> None:
    """VALIDATION_ERROR that says to give one of the two."""
    arguments = {"title_ids": ["manga-002001"], "result_set": "rs_abcdefghijklmnop"}
    error = (await post_2026(port, call(STOCK, arguments)))["result"]["structuredContent"]["error"]
    assert error["name"] == "VALIDATION_ERROR"
    assert [each["fix"] for each in error["data"]["details"]["violations"]] == ["give one of the two"]


STATED_WRONG = {
    "x-session-id": ["a b", "x" * 129, "\u00e9", "a/b"],
    "x-turn-id": ["a b", "x" * 129],
    "x-user-id": ["x" * 256],
    "x-turn-budget-ms": ["soon", "-1", "nan", "1e999", "9" * 5000],
    "x-token-budget": ["many", "-1", "nan", "1e999", "9" * 5000],
    "x-expected-calls": ["0", "101", "many"],
    "idempotency-key": ["a b", "x" * 129],
}


@cases("name", STATED_WRONG)
async def test_a_malformed_header_is_named(port: int, name: str) -> None:
    """VALIDATION_ERROR with the header's name in the path; the header may be the agent author's mistake."""
    for value in STATED_WRONG[name]:
        body, headers = in_2026(call(DETAILS, {"title_id": "manga-002001"}))
        answer = await ask(port, "POST", "/mcp", body, {**headers, name: value, "x-session-id": "s-1"} | {name: value})
        error = answer.json()["result"]["structuredContent"]["error"]
        assert error["name"] == "VALIDATION_ERROR", value
        (violation,) = error["data"]["details"]["violations"]
        assert name in violation["path"].lower()


@cases("value", ["", "session.id", "=;,", "session.id=" + "x" * 5000, "session.id=%ff%00", 5, ["a"], None])
async def test_malformed_baggage_and_traceparent_are_ignored(port: int, value: Any) -> None:
    """The agent's author did not write them."""
    meta = {"baggage": value, "traceparent": value, "tracestate": value}
    result = (await post_2026(port, call(DETAILS, {"title_id": "manga-002001"}, meta)))["result"]
    assert not result["isError"], json.dumps(result)[:500]
