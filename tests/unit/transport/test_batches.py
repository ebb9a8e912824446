"""A JSON-RPC batch is split into its messages."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import mcp_types as types
import pytest

from server.transport.messages import MOST_MESSAGES, InvalidBatch, has_batches, is_array, read_id, split_batch
from server.transport.stdio import Lines
from tests.support.cases import cases


def ping(number: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "ping"}


def opened(version: str) -> str:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    return json.dumps({**ping(0), "method": "initialize", "params": params})


def taken_apart(entries: Any) -> list[Any]:
    """What is served as it reads, and of an error its id and code."""
    return [
        json.loads(each) if isinstance(each, bytes) else (each.id, each.error.code)
        for each in split_batch(json.dumps(entries).encode())
    ]


def test_only_the_two_oldest_versions_have_batches() -> None:
    """2025-06-18 removed batches, and a client that asks for an unknown version gets the latest."""
    assert [has_batches(each) for each in ("2024-11-05", "2025-03-26")] == [True, True]
    assert not any(map(has_batches, ("2025-06-18", "2025-11-25", "2026-07-28", "2024-10-07", "", None, 1)))


def test_only_a_json_array_is_a_batch() -> None:
    assert is_array(b' \r\n\t[{"a": 1}]')
    assert not is_array(b'{"a": []}')
    assert not is_array(b"")


def test_invalid_batch_entry_is_answered_with_its_id_and_others_are_served() -> None:
    """Requests, notifications and answers are served; what is none of these is answered, with its id where it has one."""
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = {"jsonrpc": "2.0", "id": 5, "result": {}}
    wrong = [{"jsonrpc": "1.0", "id": 7, "method": "ping"}, 3, [ping(1)], {"jsonrpc": "2.0", "id": True}]
    assert taken_apart([ping(1), note, answer, *wrong, ping("1b")]) == [
        ping(1),
        note,
        answer,
        (7, types.INVALID_REQUEST),
        *[(None, types.INVALID_REQUEST)] * 3,
        ping("1b"),
    ]


def test_initialize_inside_a_batch_is_refused() -> None:
    assert taken_apart([json.loads(opened("2025-03-26")), ping(1)]) == [(0, types.INVALID_REQUEST), ping(1)]


def test_duplicate_id_in_a_batch_is_answered_without_an_id() -> None:
    """1 and "1" are two different ids."""
    assert taken_apart([ping(1), ping(1), ping("1")]) == [ping(1), (None, types.INVALID_REQUEST), ping("1")]


@cases("body", [b"[]", b"[", b"{}", json.dumps([ping(n) for n in range(MOST_MESSAGES + 1)]).encode()])
def test_empty_or_oversized_batch_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidBatch):
        split_batch(body)


def test_batch_of_the_maximum_size_is_split() -> None:
    assert len(split_batch(json.dumps([ping(n) for n in range(MOST_MESSAGES)]).encode())) == MOST_MESSAGES


def test_id_is_read_from_an_otherwise_invalid_message() -> None:
    assert [read_id(each) for each in (b'{"id": 7, "x": 1}', b"[7]", b"{", b"{}")] == [7, None, None, None]


async def read(*lines: str) -> tuple[list[Any], list[types.JSONRPCError]]:
    answered: list[types.JSONRPCError] = []
    batched = Lines(BytesIO("".join(f"{line}\n" for line in lines).encode()), 2**16)

    async def answer(error: types.JSONRPCError) -> None:
        answered.append(error)

    batched.answer = answer
    return [json.loads(line) async for line in batched], answered


async def test_batch_line_on_stdio_is_split_after_a_version_with_batches_was_agreed() -> None:
    start, both = opened("2025-03-26"), json.dumps([ping(1), {"jsonrpc": "2.0", "id": 2}, ping(3)])
    passed, answered = await read(both, start, both, json.dumps(ping(4)))
    assert passed == [json.loads(both), json.loads(start), ping(1), ping(3), ping(4)]
    assert [each.id for each in answered] == [2]


async def test_batch_line_is_passed_unchanged_in_versions_without_batches() -> None:
    start, both = opened("2025-06-18"), json.dumps([ping(1), ping(2)])
    passed, answered = await read(start, both)
    assert (passed, answered) == ([json.loads(start), json.loads(both)], [])


async def test_empty_batch_line_is_answered_once() -> None:
    passed, answered = await read(opened("2024-11-05"), "[]", json.dumps(ping(1)))
    assert passed[1:] == [ping(1)]
    assert [each.id for each in answered] == [None]
