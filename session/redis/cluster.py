"""Client of a Redis or Valkey cluster, such as ElastiCache Serverless, with one shared connection to each node.

redis-py only keeps the slot map. Its `execute_command` is not used: it sends ASKING on one connection and the command on
another, and closes all connections when a slot has moved."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio.cluster import ClusterNode, NodesManager
from redis.cluster import PRIMARY
from redis.crc import REDIS_CLUSTER_HASH_SLOTS as SLOTS
from redis.crc import key_slot
from redis.exceptions import AskError, MovedError

from session.failures import MemoryRefused, MemoryUnavailable, NodeUnanswered, NodeUnavailable, Unanswered
from session.redis.address import RedisAddress
from session.redis.keyvalue import Argument, Command, Evaluation, Reply, Step
from session.redis.multiplexed import (
    CONNECT_SECONDS,
    Credentials,
    Dialer,
    MultiplexedRedis,
    is_unknown_script,
    reason,
    redial_pauses,
)
from session.resilience.breaker import Outage
from session.resilience.deadline import Deadline
from session.resilience.tasks import end_task, start_task, wait_for

logger = logging.getLogger(__name__)

ATTEMPTS = 5
"""Most times that a step is sent; MOVED, ASK and an unknown script together take four."""
FAILURES = 3
"""Number of failures in a row to learn the topology after which the outage is logged."""
ANSWER_SECONDS = 0.5
REDIRECTIONS = {"MOVED": MovedError, "ASK": AskError}
ASKING = Command(("ASKING",))
PING = Command(("PING",))
STATE = Command(("CLUSTER", "INFO"))
TOPOLOGY = Command(("CLUSTER", "SLOTS"))
_UNKNOWN = (None, "", "?")
"""Host names of a node that does not know its own; the cluster's configured host is used instead."""


class TopologyNode(ClusterNode):
    """A node that redis-py asks for the cluster's slots, over this client's shared connection to it."""

    __slots__ = ("_redis",)

    def __init__(self, redis: MultiplexedRedis) -> None:
        super().__init__(redis.address.host, redis.address.port)
        self._redis = redis

    async def execute_command(self, *_: Any, **__: Any) -> Any:
        """Sends CLUSTER SLOTS, the only command that redis-py sends here. Raises `MemoryUnavailable` or `MemoryRefused`."""
        await self._redis.connect_unless_away(Deadline.after(CONNECT_SECONDS))
        (reply,) = await self._redis.trip([TOPOLOGY], Deadline.after(ANSWER_SECONDS))
        if isinstance(reply, Exception):
            raise MemoryRefused("Redis refused to tell the topology of the cluster")
        return reply


@dataclass(slots=True, eq=False)
class _RoutedStep:
    """A command or script with its node's connection and its reply. `asking`: send ASKING before it."""

    step: Step
    command: Command
    node: MultiplexedRedis
    asking: bool = False
    reply: Reply | Exception = None

    @property
    def commands(self) -> tuple[Command, ...]:
        return (ASKING, self.command) if self.asking else (self.command,)


class ClusteredRedis:
    """`KeyValue` over a cluster. A round trip that needs an absent node raises `MemoryUnavailable` and sends nothing (after
    a redirection, nothing more). A trip of PING alone checks every primary."""

    is_sharded = True

    def __init__(self, address: RedisAddress, credentials: Credentials | None = None) -> None:
        """`address`: the address of any node, or of a configuration endpoint that resolves to a node."""
        self._address, self._credentials = address, credentials
        self._seed = ClusterNode(address.host, address.port)
        self.nodes = NodesManager([self._seed], False, {}, False, self._address_of)
        self._connections: dict[str, MultiplexedRedis] = {}
        self._outage = Outage(logger, f"the topology of the Redis cluster at {address}", after=FAILURES)
        self._known = asyncio.Event()
        self._repair: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def dialer(self) -> Dialer:
        """Dialer of a random connected primary, else of the configured node. Any node publishes to subscribers of all."""
        return random.choice(self._connected() or [self.connection_to(self._seed)]).dialer

    def dialer_of(self, channel: str) -> Dialer:
        node = self.node_of(channel)
        return self.connection_to(node).dialer if node is not None else self.dialer

    def node_of(self, key: Argument) -> ClusterNode | None:
        """Returns the primary that serves the key's slot; None if unknown."""
        served_by = self.nodes.slots_cache.get(key_slot(key if isinstance(key, bytes) else str(key).encode()))
        return served_by[0] if served_by else None

    @property
    def primaries(self) -> list[ClusterNode]:
        return self.nodes.get_nodes_by_server_type(PRIMARY)

    def connection_to(self, node: ClusterNode) -> MultiplexedRedis:
        if (known := self._connections.get(node.name)) is not None:
            return known
        made = MultiplexedRedis(self._address.of_node(node.host, int(node.port)), self._credentials)
        return self._connections.setdefault(node.name, made)

    async def connect(self, deadline: Deadline) -> None:
        """Waits until every primary is connected, or until the deadline. Never raises."""
        self._start_repair()
        if self._repair is not None:
            await asyncio.wait({self._repair}, timeout=deadline.remaining())

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        await self._until_known(deadline)
        if len(steps) == 1 and steps[0] == PING:
            return [await self._state(deadline)]
        routed = left = [self._route(step) for step in steps]
        for _ in range(ATTEMPTS):
            await self._send(left, deadline)
            left = [each for each in left if isinstance(each.reply, MemoryRefused) and await self._send_again(each)]
            if not left:
                return [each.reply for each in routed]
        raise MemoryUnavailable("the cluster sends its commands round in circles")

    async def aclose(self) -> None:
        self._closed = True
        self._known.set()
        await end_task(self._repair)
        await asyncio.gather(*(connection.aclose() for connection in self._connections.values()))

    async def _until_known(self, deadline: Deadline) -> None:
        """Waits until the topology was asked for once. Raises `MemoryUnavailable` at the deadline, or after `aclose`."""
        if not self._known.is_set():
            self._start_repair()
            if not await wait_for(self._known, deadline.remaining()):
                raise MemoryUnavailable("Redis is not connected")
        if self._closed:
            raise MemoryUnavailable("Redis is not connected")

    def _route(self, step: Step) -> _RoutedStep:
        key = step.keys[0] if isinstance(step, Evaluation) else step[1] if len(step) > 1 else None
        if key is None:
            node = next(iter(self._connected() or map(self.connection_to, self.primaries)), None)
        else:
            primary = self.node_of(key)
            node = self.connection_to(primary) if primary is not None else None
        if node is None:
            self._start_repair()
            raise self._unavailable()
        return _RoutedStep(step, step.by_digest() if isinstance(step, Evaluation) else step, node)

    async def _send(self, routed: Sequence[_RoutedStep], deadline: Deadline) -> None:
        """Sends the steps, with one write per node, and sets the `reply` of each. Raises `MemoryUnavailable`."""
        groups: dict[MultiplexedRedis, list[_RoutedStep]] = {}
        for each in routed:
            groups.setdefault(each.node, []).append(each)
        for node in groups:
            await node.connect_unless_away(deadline)
        try:
            wires = [node.wire() for node in groups]
        except MemoryUnavailable:
            self._start_repair()
            raise self._unavailable() from None
        trips = [
            wire.send([command for each in group for command in each.commands], deadline.remaining())
            for wire, group in zip(wires, groups.values(), strict=True)
        ]
        try:
            for trip, group in zip(trips, groups.values(), strict=True):
                replies = iter(await trip.replies())
                for each in group:
                    each.reply = [next(replies) for _ in each.commands][-1]
        except Unanswered as failure:
            if not any(wire.closed for wire in wires):
                raise
            self._start_repair()
            raise (NodeUnanswered if self._connected() else Unanswered)(str(failure)) from None

    async def _send_again(self, refused: _RoutedStep) -> bool:
        """Returns True after preparing a refused command to be sent again, or False if the refusal is the command's reply.
        Raises `MemoryUnavailable` if the cluster cannot serve the key now."""
        code, _, where = str(refused.reply).partition(" ")
        if isinstance(refused.step, Evaluation) and is_unknown_script(refused.reply):
            refused.command = refused.step.by_text()
        elif code in REDIRECTIONS:
            refused.asking = code == "ASK"
            refused.node = await self._follow(REDIRECTIONS[code](where), refused.node)
        elif code in ("CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "LOADING"):
            self._start_repair()
            raise MemoryUnavailable("the cluster does not serve this key now")
        else:
            return False
        return True

    async def _follow(self, to: AskError, asked: MultiplexedRedis) -> MultiplexedRedis:
        """Returns the connection to the node of a redirection; MOVED also updates the slot map."""
        to.host, to.port = self._address_of((to.host or asked.address.host, to.port))
        if not isinstance(to, MovedError):
            return self.connection_to(ClusterNode(to.host, to.port))
        self.nodes.slots_cache.setdefault(to.slot_id, [])
        await self.nodes.move_slot(to)
        return self.connection_to(self.nodes.slots_cache[to.slot_id][0])

    async def _state(self, deadline: Deadline) -> Reply | Exception:
        """Returns PONG if every slot has a primary, and every primary answers and reports a healthy cluster, or may not be
        asked (NOPERM). Otherwise returns an error reply, or raises `MemoryUnavailable`."""
        asked = [_RoutedStep(STATE, STATE, self.connection_to(node)) for node in self.primaries]
        if len(self.nodes.slots_cache) == SLOTS:
            await self._send(asked, deadline)
            refusals = [each.reply for each in asked if isinstance(each.reply, MemoryRefused)]
            if refused := [each for each in refusals if not str(each).startswith("NOPERM")]:
                return refused[0]
            if all(_finds_itself_well(each.reply) for each in asked if isinstance(each.reply, bytes)):
                return b"PONG"
        self._start_repair()
        raise MemoryUnavailable("not every slot of the cluster is served")

    def _connected(self) -> list[MultiplexedRedis]:
        return [own for node in self.primaries if (own := self.connection_to(node)).is_connected]

    def _unavailable(self) -> MemoryUnavailable:
        return (NodeUnavailable if self._connected() and not self._closed else MemoryUnavailable)("Redis is not connected")

    def _address_of(self, where: tuple[Any, int]) -> tuple[str, int]:
        host, port = where
        return self._address.host if host in _UNKNOWN else str(host), port

    def _start_repair(self) -> None:
        """Starts the task that learns the topology and connects to every primary, unless the task is running."""
        if not self._closed and (self._repair is None or self._repair.done()):
            self._repair = start_task(self._repair_until_whole(), "redis-cluster")

    async def _repair_until_whole(self) -> None:
        for pause in redial_pauses():
            await asyncio.sleep(pause if self._known.is_set() else 0.0)
            learnt = await self._learn()
            self._known.set()
            primaries = [self.connection_to(node) for node in self.primaries]
            soon = Deadline.after(CONNECT_SECONDS)
            await asyncio.gather(*(node.connect_unless_away(soon) for node in primaries))
            whole = all(node.is_connected for node in primaries) and len(self._connections) == len(primaries)
            if learnt and whole and len(self.nodes.slots_cache) == SLOTS:
                return

    async def _learn(self) -> bool:
        """Learns the topology from up to three connected nodes, else from the configured node. Returns True on success."""
        there = self._connected()
        seed = TopologyNode(self.connection_to(self._seed))
        asked = [*map(TopologyNode, random.sample(there, min(3, len(there)))), seed]
        self.nodes.startup_nodes = {node.name: node for node in asked}
        try:
            await self.nodes.initialize(last_failed_node_name=seed.name)
        except Exception as failure:  # no slots, no answer, or a malformed one
            self._outage.record_failure(_describe_root_cause(failure))
            return False
        self._outage.record_recovery()
        await self._close_unused()
        return True

    async def _close_unused(self) -> None:
        """Closes connections to nodes that are not primaries (any more), unless replies are due."""
        used = {node.name for node in self.primaries}
        for name in [name for name, own in self._connections.items() if name not in used and own.idle]:
            await self._connections.pop(name).aclose()


def _describe_root_cause(failure: BaseException) -> str:
    while (cause := failure.__cause__ or failure.__context__) is not None:
        failure = cause
    return reason(failure) if isinstance(failure, Exception) else type(failure).__name__


def _finds_itself_well(state: bytes) -> bool:
    facts = dict(line.split(b":", 1) for line in state.split() if b":" in line)
    return facts.get(b"cluster_state", b"ok") == b"ok" and int(facts.get(b"cluster_slots_ok", SLOTS)) == SLOTS
