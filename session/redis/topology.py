"""Which node of a cluster has which slot: what CLUSTER SLOTS answers, and the redirections in which a node corrects it.

Source: Redis documentation, "CLUSTER SLOTS" and "Redis cluster specification" (Redirection and resharding).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from redis.crc import REDIS_CLUSTER_HASH_SLOTS as SLOTS
from redis.crc import key_slot

from session.redis.keyvalue import Argument, Command, Evaluation, Reply, Step

QUESTION = Command(("CLUSTER", "SLOTS"))
_UNKNOWN = ("", "?")
"""What a node announces that doesn't know how others reach it: as they reached whoever told them."""
_REDIRECTION = re.compile(r"(MOVED|ASK) (\d{1,5}) (\S*):(\d{1,5})")
_KEYLESS = ("PING", "INFO", "CLUSTER", "SCRIPT", "FLUSHALL", "KEYS")


class NodeAddress(NamedTuple):
    """Where a node is."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Topology:
    """`ranges` of slots (first, last, their primary). `reached` has, for each node as it names itself, where that is."""

    ranges: tuple[tuple[int, int, NodeAddress], ...]
    reached: dict[NodeAddress, NodeAddress]

    @classmethod
    def read(cls, reply: Reply, asked: str, *, by_name: bool) -> Topology:
        """`asked` is the host that answered. `by_name` prefers host names, which certificates are made out to, to numbers.
        Raises ValueError for anything but a cluster that has slots."""
        ranges, reached = [], {}
        try:
            for first, last, primary, *_ in reply:
                named, facts = _text(primary[0]), _facts(primary)
                host = (by_name and facts.get("hostname")) or (facts.get("ip") if named == "?" else named) or asked
                where = NodeAddress(host, int(primary[1]))
                reached[NodeAddress(named, where.port)] = where
                ranges.append((range(SLOTS)[first], range(SLOTS)[last], where))
        except (TypeError, LookupError, AttributeError):
            raise ValueError("this is not what CLUSTER SLOTS answers") from None
        if not ranges:
            raise ValueError("it knows of no slots")
        return cls(tuple(ranges), reached)

    def locate(self, named: NodeAddress, asked: str) -> NodeAddress:
        """Where a node is that another, on the host `asked`, names so."""
        if named in self.reached:
            return self.reached[named]
        return NodeAddress(asked, named.port) if named.host in _UNKNOWN else named


@dataclass(frozen=True, slots=True)
class Redirection:
    """Where to ask instead: from now on, or (`once`) for this command, while the slot is on its way."""

    slot: int
    to: NodeAddress
    once: bool

    @classmethod
    def read(cls, refusal: str) -> Redirection | None:
        found = _REDIRECTION.fullmatch(refusal)
        if found is None or int(found[2]) >= SLOTS:
            return None
        return cls(int(found[2]), NodeAddress(found[3], int(found[4])), found[1] == "ASK")


def slot_of(step: Step) -> int | None:
    """The slot of its first key; None without one. Commands here have it where GET has it, and EVAL after their number."""
    key: Argument | None
    if isinstance(step, Evaluation):
        key = step.keys[0] if step.keys else None
    elif step[0] in ("EVAL", "EVALSHA"):
        key = step[3] if step[2] not in (0, "0") else None
    else:
        key = step[1] if len(step) > 1 and step[0] not in _KEYLESS else None
    if key is None:
        return None
    return key_slot(key if isinstance(key, bytes) else str(key).encode())


def finds_itself_well(state: bytes) -> bool:
    """What CLUSTER INFO answers; whoever does not tell is believed to be."""
    facts = dict(line.split(b":", 1) for line in state.split() if b":" in line)
    return facts.get(b"cluster_state", b"ok") == b"ok" and int(facts.get(b"cluster_slots_ok", SLOTS)) == SLOTS


def _facts(node: list[Reply]) -> dict[str, str]:
    """The metadata behind address and id, in Redis 7 and later: name and value in turn."""
    told = [_text(each) for each in node[3]] if len(node) > 3 and isinstance(node[3], list) else []
    return dict(zip(told[::2], told[1::2], strict=False))


def _text(value: bytes | None) -> str:
    return value.decode() if value is not None else ""
