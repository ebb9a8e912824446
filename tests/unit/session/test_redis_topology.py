"""Which node has which slot, as servers of several kinds and ages tell it."""

from __future__ import annotations

import pytest
from redis.crc import key_slot

from session.redis.keyvalue import Command, Evaluation, Reply, Step
from session.redis.topology import NodeAddress, Redirection, Topology, slot_of
from session.scripts import Script


def node(host: bytes | None, port: int = 6379, *facts: bytes) -> list[Reply]:
    return [host, port, b"0" * 40, list(facts)]


@pytest.mark.parametrize(
    ("announced", "by_name", "host"),
    [
        ([b"10.0.0.7", 6379], False, "10.0.0.7"),  # before Redis 4: no id
        ([b"10.0.0.7", 6379, b"id"], True, "10.0.0.7"),  # before Redis 7: no metadata
        (node(b"10.0.0.7"), True, "10.0.0.7"),
        (node(b"10.0.0.7", 6379, b"hostname", b"one.cache"), False, "10.0.0.7"),
        (node(b"10.0.0.7", 6379, b"hostname", b"one.cache"), True, "one.cache"),
        (node(b"10.0.0.7", 6379, b"hostname", b""), True, "10.0.0.7"),
        (node(b"one.cache", 6379, b"ip", b"10.0.0.7"), True, "one.cache"),
        (node(b"?", 6379, b"ip", b"10.0.0.7"), True, "10.0.0.7"),
        (node(b"?"), True, "asked"),
        (node(b""), True, "asked"),
        (node(None), True, "asked"),
        (node(None, 6379, b"ip", b"10.0.0.7", b"hostname", b"one.cache"), True, "one.cache"),
        (node(b"::1"), True, "::1"),
    ],
)
def test_a_node_is_reached_by_what_it_announces_or_as_it_was_asked(announced: list[Reply], by_name: bool, host: str) -> None:
    topology = Topology.read([[0, 16383, announced]], "asked", by_name=by_name)
    assert topology.ranges == ((0, 16383, NodeAddress(host, 6379)),)
    named = NodeAddress((announced[0] or b"").decode(), 6379)
    assert topology.locate(named, "another") == NodeAddress(host, 6379), "by a redirection as well"


def test_replicas_are_left_out_and_a_serverless_cache_is_one_node_with_every_slot() -> None:
    primary, replica = node(b"c.serverless.aws", 6379), node(b"c.serverless.aws", 6380)
    topology = Topology.read([[0, 16383, primary, replica]], "c.serverless.aws", by_name=True)
    assert topology.ranges == ((0, 16383, NodeAddress("c.serverless.aws", 6379)),)


@pytest.mark.parametrize(
    "reply",
    [[], None, b"OK", 7, [[0]], [[0, 1]], [[b"a", b"b", node(b"x")]], [[0, 16384, node(b"x")]], [[0, 1, [b"x"]]], [[0, 1, [7, 1]]],
     [[0, 1, [b"\xff", 1]]], [[0, 1, [b"x", b"port"]]]],
)  # fmt: skip
def test_what_is_no_topology_is_none(reply: Reply) -> None:
    with pytest.raises(ValueError):
        Topology.read(reply, "asked", by_name=False)


def test_a_node_that_nobody_has_told_of_is_found_by_the_redirection_alone() -> None:
    """A new node is named by those that hand slots to it before the topology has it."""
    known = Topology((), {})
    assert known.locate(NodeAddress("new", 1), "asked") == NodeAddress("new", 1)
    assert known.locate(NodeAddress("", 1), "asked") == NodeAddress("asked", 1)
    assert known.locate(NodeAddress("?", 1), "asked") == NodeAddress("asked", 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MOVED 3999 127.0.0.1:6381", Redirection(3999, NodeAddress("127.0.0.1", 6381), once=False)),
        ("ASK 0 ::1:6381", Redirection(0, NodeAddress("::1", 6381), once=True)),
        ("MOVED 1 :6381", Redirection(1, NodeAddress("", 6381), once=False)),
        ("MOVED 16384 x:1", None),
        ("MOVED 1 x", None),
        ("MOVED", None),
        ("ASKED 1 x:1", None),
        ("ERR MOVED 1 x:1", None),
    ],
)
def test_a_redirection_is_read_and_everything_else_is_a_refusal(text: str, expected: Redirection | None) -> None:
    assert Redirection.read(text) == expected


@pytest.mark.parametrize(
    ("step", "key"),
    [
        (Command(("GET", "a{b}c")), b"b"),
        (Command(("SET", b"\xff{}", "x")), b"\xff{}"),
        (Command(("UNLINK", "{s}1", "{s}2")), b"s"),
        (Command(("EVAL", "return 1", 1, "k", "x")), b"k"),
        (Command(("EVAL", "return 1", 0, "x")), None),
        (Evaluation(Script.load("limit"), ("鍵",), (1,)), "鍵".encode()),
        (Evaluation(Script.load("limit"), (), ()), None),
        (Command(("PING",)), None),
        (Command(("INFO", "server")), None),
        (Command(("DBSIZE",)), None),
    ],
)
def test_the_slot_of_a_step_is_that_of_its_first_key(step: Step, key: bytes | None) -> None:
    assert slot_of(step) == (None if key is None else key_slot(key))
