"""Relayed frames are decoded as encoded, malformed ones are ignored, and responses are put together again."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from server.identity.request_metadata import TrustStated
from server.runtime.fleet_key import FleetKey
from server.transport.http.responses import Unanswered
from server.transport.relay.carriers import SocketRelay
from server.transport.relay.forwarding import MOST_UNREAD_BYTES, Answer, Forwarder, Lost, unavailable
from server.transport.relay.port import MESSAGES, NAME, SESSIONS, Ack, Ask, Cancel, Part, Progress, Seal, Unreached, decode
from server.transport.relay.relayed import split_name
from tests.support.cases import cases

OWNER, OTHER = "0123456789ab", "ba9876543210"
OUTCOMES = ("answered", "gone", "unreached", "lost")
PINGED = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'
EVENTS = [(b"Content-Type", b"text/event-stream; charset=utf-8")]
header = st.binary(max_size=20)
headers = st.lists(st.tuples(header, header), max_size=3)


def part(order: int, body: bytes = b"x", *, more: bool = True) -> Part:
    return Part(OWNER, 1, order, body, more, 200, EVENTS)


@given(body=st.binary(), query=st.binary(), said=headers, user=st.none() | st.text(st.characters(codec="utf-8")))
def test_relayed_request_is_decoded_as_it_was_encoded(
    body: bytes, query: bytes, said: list[tuple[bytes, bytes]], user: str | None
) -> None:
    """Body, query, headers and the principal's name may hold anything."""
    ask = Ask(
        OWNER, 1, SESSIONS, "POST", "/mcp", query, "https", said, ("::1", 80), user, 12, body, True, {"a": {"user": "u"}}
    )
    assert decode(ask.encode()) == ask


@given(body=st.binary(), said=headers, more=st.booleans())
def test_relayed_response_frames_are_decoded_as_they_were_encoded(
    body: bytes, said: list[tuple[bytes, bytes]], more: bool
) -> None:
    first = Part(OWNER, 3, 0, body, more, 404, said)
    assert decode(first.encode()) == first
    assert decode(Cancel(OWNER, 3, MESSAGES).encode()) == Cancel(OWNER, 3, MESSAGES)
    assert decode(Ack(OWNER, 3).encode()) == Ack(OWNER, 3)
    assert decode(Progress(OWNER, 3, 8).encode()) == Progress(OWNER, 3, 8)
    later = Part(OWNER, 3, 2, body, more)
    assert decode(later.encode()) == later


@cases(
    "message",
    [
        b"",
        b"\n",
        b"[]\n",
        b"{}\n",
        b'{"k":"ask"}\n',
        b'{"k":"ask","from":"a","n":1}\n',
        b'{"k":"part","from":1,"n":1}\n',
        b"\xff\n",
    ]
    + [
        b'{"k":"part","from":"a","n":1,"order":0,"more":true,"status":Infinity}\n',
        b'{"k":"part","from":"a","n":1,"order":"0","more":true}\n',
        b'{"k":"left","from":"a","n":"1"}\n',
        b"[" * 9999,
    ],
)
def test_malformed_frame_is_decoded_as_none(message: bytes) -> None:
    assert decode(message) is None


def test_process_name_is_split_from_a_relayed_id() -> None:
    own = SocketRelay(Path()).own
    assert NAME.fullmatch(own)
    assert split_name(f"{own}.inner.with.dots") == (own, "inner.with.dots")
    for name in ("0" * 32, "", ".", "short.x", f"{own.upper()}g.x", f"{own}"):
        assert split_name(name) == (None, name)


async def test_response_parts_are_delivered_in_order_and_once() -> None:
    answer = Answer(OWNER)
    for each in (part(0), part(0), part(1, b"y"), part(0), part(2, b"z", more=False), part(2, b"z", more=False)):
        answer.add(each)
    assert [(await answer.next_part()).body for _ in range(3)] == [b"x", b"y", b"z"]
    assert answer.is_whole


async def test_missing_part_loses_the_rest_of_the_response() -> None:
    answer = Answer(OWNER)
    answer.add(part(0))
    answer.add(part(2))
    assert (await answer.next_part()).order == 0
    with pytest.raises(Lost):
        await answer.next_part()
    assert not answer.is_whole


async def test_unread_response_beyond_the_limit_is_lost() -> None:
    large = b"x" * (MOST_UNREAD_BYTES // 2 + 1)
    slow, quick = Answer(OWNER), Answer(OWNER)
    for order in range(3):
        slow.add(part(order, large))
        quick.add(part(order, large))
        assert (await quick.next_part()).order == order
    assert [(await slow.next_part()).order for _ in range(2)] == [0, 1]
    with pytest.raises(Lost):
        await slow.next_part()


async def test_waiting_reader_is_told_that_the_response_is_lost() -> None:
    answer = Answer(OWNER)
    waiting = asyncio.create_task(answer.next_part())
    await asyncio.sleep(0)
    answer.lose()
    with pytest.raises(Lost):
        await waiting


def test_unanswered_request_gets_a_json_rpc_error_with_its_id() -> None:
    told = unavailable(SESSIONS, PINGED, "gone")
    assert (told.status_code, told.media_type) == (200, "application/json")
    assert json.loads(told.body)["id"] == 7
    assert json.loads(told.body)["error"]["message"] == "gone"
    event = Unanswered(PINGED).errors("gone").decode()
    assert event.startswith("event: message\r\ndata: ")
    assert json.loads(event.partition("data: ")[2]) == json.loads(told.body)


@cases("asked", [b"", b"{", b"[]", b'{"method":"x"}', b'{"id":1,"result":{}}', b'{"id":[],"method":"x"}'])
def test_unanswered_notification_gets_503(asked: bytes) -> None:
    for to in (SESSIONS, MESSAGES):
        told = unavailable(to, asked, "gone")
        assert (told.status_code, told.headers["retry-after"]) == (503, "1")
    assert Unanswered(asked).errors("gone") == b""
    assert unavailable(MESSAGES, PINGED, "gone").status_code == 503  # whose answer comes on the stream, if anywhere


def test_each_request_of_a_batch_without_a_whole_answer_gets_an_error() -> None:
    """The stream may be cut anywhere, even within an event or its first bytes."""
    asked = b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":"1","method":"ping"},{"method":"n"}]'
    event = b'event: message\r\ndata: {"jsonrpc":"2.0","id":1,"result":{"text":"%b"}}\r\n\r\n' % (b"x" * 5000)
    for size in (1, 7, 1023, 4096, len(event)):
        for told, left in ((event, ["1"]), (event[:-5], [1, "1"]), (b"", [1, "1"])):
            unanswered = Unanswered(asked)
            for at in range(0, len(told), size):
                unanswered.feed(told[at : at + size])
            lines = unanswered.errors("gone").decode().split("\r\n")
            assert [json.loads(line[6:])["id"] for line in lines if line.startswith("data: ")] == left
    assert b'"id":"1"' in unavailable(SESSIONS, asked, "gone").body


@cases("first", [b"\x00" * 32, b"\xff" * 32])
def test_frames_are_sealed_with_the_newest_key_of_the_fleet(first: bytes) -> None:
    """The newest key is used whichever of two keys is the greater."""
    key, other = FleetKey("a secret"), FleetKey("a secret")
    seal = Seal(key)
    key.keys = [first]
    old = seal.seal(OWNER, b"before")
    key.keys, other.keys = [b"\x7f" * 32], [b"\x7f" * 32]
    assert Seal(other).unseal(OWNER, seal.seal(OWNER, b"now")) == b"now"
    assert seal.unseal(OWNER, old) is None
    key.keys = [b"\x7f" * 32, first]
    assert seal.unseal(OWNER, old) == b"before"
    assert Seal(other).unseal(OWNER, seal.seal(OWNER, b"now")) == b"now"


def test_sealed_message_is_opened_by_its_receiver_alone_and_unchanged() -> None:
    """What no key opens may be sealed with a new one, after which is looked. A nonce has 12 bytes, a tag 16."""
    key = FleetKey("a secret")
    seal = Seal(key)
    sealed = seal.seal(OWNER, b"said")
    assert (len(sealed), seal.unseal(OWNER, sealed)) == (12 + 4 + 16, b"said")
    assert not key._hurried.is_set()
    for own, changed in ((OTHER, sealed), (OWNER, sealed[:-1] + bytes([sealed[-1] ^ 1]))):
        assert seal.unseal(own, changed) is None
        assert key._hurried.is_set()
    assert [seal.unseal(OWNER, sealed[:length]) for length in range(len(sealed))] == [None] * len(sealed)
    seal.agreed.clear()
    with pytest.raises(Unreached):
        seal.seal(OWNER, b"said")


def test_frames_of_a_release_before_have_the_defaults_and_outcomes_begin_with_none() -> None:
    """It knew neither windows nor verified identities, and told nothing of what a client had left."""
    line = {"k": "ask", "from": OWNER, "n": 1, "to": SESSIONS, "method": "GET", "path": "/", "query": "", "scheme": "http"}
    asked = decode(json.dumps({**line, "headers": [], "client": None, "user": None, "waited": 0}).encode() + b"\nbody\nmore")
    assert isinstance(asked, Ask)
    assert (asked.window, asked.bearer, asked.tokens, asked.body) == (0, None, {}, b"body\nmore")
    assert decode(b'{"k":"left","from":"%b","n":1}' % OWNER.encode()) == Cancel(OWNER, 1, SESSIONS)
    registry = CollectorRegistry()
    Forwarder(SocketRelay(Path()), 1.0, registry, TrustStated())
    told = [registry.get_sample_value("manga_relay_forwarded_total", {"outcome": each}) for each in (*OUTCOMES, "other")]
    assert told == [0, 0, 0, 0, None]


def test_digest_tells_apart_what_two_requests_differ_in() -> None:
    """But not by whom and how they came."""
    one = Ask(OWNER, 1, SESSIONS, "POST", "/mcp", b"q", "http", [(b"mcp-session-id", b"s")], None, "u", 0, b"body")
    assert one.stream == (b"s", "u")
    same = replace(one, sender=OTHER, number=2, scheme="https", client=("::1", 1), waited_ms=9, window=3, bearer=True)
    assert same.digest == one.digest
    assert replace(one, headers=[(b"x", b"y"), *one.headers]).digest == one.digest
    other: list[dict[str, Any]] = [{"to": "messages"}, {"method": "GET"}, {"path": "/"}, {"query": b""}, {"body": b""}]
    other += [{"user": None}, {"user": "v"}, {"headers": []}, {"headers": [(b"mcp-session-id", b"t")]}]
    assert len({one.digest, *(replace(one, **each).digest for each in other)}) == 1 + len(other)
