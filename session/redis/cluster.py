"""A Redis or Valkey cluster, ElastiCache Serverless among them: one shared connection to each primary.

Each step goes to the node that has its key's slot, and all steps for a node in one write. A node that knows better says so
(MOVED, ASK) and is followed. Which node has what is learnt at first, and again in the background as long as there is doubt:
when a node is lost, when one says MOVED, and until every slot has a primary that is connected.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from redis.crc import REDIS_CLUSTER_HASH_SLOTS as SLOTS

from session.failures import MemoryRefused, MemoryUnavailable, PartlyUnavailable
from session.redis.address import RedisAddress
from session.redis.keyvalue import Command, Evaluation, Reply, Step
from session.redis.multiplexed import CONNECT_SECONDS, MultiplexedRedis, is_unknown_script
from session.redis.topology import QUESTION, NodeAddress, Redirection, Topology, finds_itself_well, slot_of
from session.resilience.deadline import Deadline
from session.resilience.tasks import start_task

AT_ONCE = 1000
"""Trips at once; more of them wait for their turn."""
ASKED_AT_MOST = 5
"""Times that a step is sent: by MOVED, ASK and an unknown script it takes four."""
ANSWER_SECONDS = 0.5
LEARN_AGAIN_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 1.0
KEPT_SECONDS = 10.0
"""How long a node without slots stays connected: trips may be under way there, and slots on their way to it."""
NOT_NOW = ("CLUSTERDOWN", "TRYAGAIN", "LOADING", "MASTERDOWN")
ASKING = Command(("ASKING",))
PING = Command(("PING",))
STATE = Command(("CLUSTER", "INFO"))


@dataclass(slots=True, eq=False)
class _Errand:
    """A step on its way: what is sent for it, where, and what came back."""

    step: Step
    command: Command
    node: MultiplexedRedis
    asking: bool = False
    reply: Reply | Exception = None


class ClusteredRedis:
    """`KeyValue` over a cluster. A trip that needs a node which is away fails at once, and sends nothing to the others.

    PING asks every primary whether the cluster is well.
    """

    def __init__(self, address: RedisAddress, credentials: Callable[[], tuple[str, str]] | None = None) -> None:
        """`address` is that of any node, or of an endpoint that leads to one; `credentials` as for one connection."""
        self._address = address
        self._credentials = credentials
        self._nodes: dict[NodeAddress, MultiplexedRedis] = {}
        self._primaries: dict[NodeAddress, MultiplexedRedis] = {}
        self._slots: list[MultiplexedRedis | None] = [None] * SLOTS
        self._topology = Topology((), {})
        self._learning: asyncio.Task[None] | None = None
        self._learnt = asyncio.Event()
        self._in_doubt = False
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._closed = False

    async def connect(self, deadline: Deadline) -> None:
        """Waits until every primary is connected, at most until the deadline. Never raises."""
        self._learn()
        if self._learning is not None:
            await asyncio.wait({self._learning}, timeout=deadline.remaining())

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        if self._turns.locked():
            await _within(deadline, self._turns.acquire())
        else:
            await self._turns.acquire()
        try:
            if not self._learnt.is_set():
                self._learn()
                await _within(deadline, self._learnt.wait())
            if len(steps) == 1 and steps[0] == PING:
                return [await self._state(deadline)]
            errands = [self._errand(step) for step in steps]
            left = errands
            for _ in range(ASKED_AT_MOST):
                await self._run(left, deadline)
                left = [errand for errand in left if isinstance(errand.reply, MemoryRefused) and self._goes_on(errand)]
                if not left:
                    return [errand.reply for errand in errands]
        finally:
            self._turns.release()
        raise MemoryUnavailable("the cluster sends its commands round in circles")

    async def aclose(self) -> None:
        self._closed = True
        self._learnt.set()
        if self._learning is not None:
            self._learning.cancel()
            await asyncio.gather(self._learning, return_exceptions=True)
        await asyncio.gather(*(node.aclose() for node in self._nodes.values()))

    # -- the way of a step

    def _errand(self, step: Step) -> _Errand:
        slot = slot_of(step)
        node = self._slots[slot] if slot is not None else self._any_primary()
        if node is None or self._closed:
            self._learn()
            raise self._away()
        return _Errand(step, step.by_digest() if isinstance(step, Evaluation) else step, node)

    async def _run(self, errands: Iterable[_Errand], deadline: Deadline) -> None:
        """Sends all of them, those for one node in one write, and waits for their replies."""
        groups: dict[MultiplexedRedis, list[_Errand]] = {}
        for errand in errands:
            groups.setdefault(errand.node, []).append(errand)
        for node in groups:
            await node.tried(deadline)
        try:
            wires = [node.wire() for node in groups]
        except MemoryUnavailable:
            raise self._away() from None
        trips = []
        for wire, group in zip(wires, groups.values(), strict=True):
            commands = [
                each for errand in group for each in ((ASKING, errand.command) if errand.asking else (errand.command,))
            ]
            trips.append(wire.send(commands, deadline.remaining()))
        for trip, group in zip(trips, groups.values(), strict=True):
            replies = iter(await trip.replies())
            for errand in group:
                if errand.asking:
                    next(replies)
                errand.reply = next(replies)

    def _away(self) -> MemoryUnavailable:
        return (PartlyUnavailable if self._connected() else MemoryUnavailable)("Redis is not connected")

    def _any_primary(self) -> MultiplexedRedis | None:
        return next(iter(self._connected()), None) or next(iter(self._primaries.values()), None)

    def _goes_on(self, errand: _Errand) -> bool:
        """Whether a refused step is to be sent again, and where; a refusal that is its reply is not."""
        refusal = str(errand.reply)
        if isinstance(errand.step, Evaluation) and is_unknown_script(errand.reply):
            errand.command = errand.step.by_text()
            return True
        if redirection := Redirection.read(refusal):
            errand.node = self._node(self._topology.place(redirection.to, errand.node.host))
            errand.asking = redirection.once
            if not redirection.once:
                self._slots[redirection.slot] = errand.node
                self._in_doubt = True
                self._learn()
            return True
        if refusal.startswith(NOT_NOW):
            self._in_doubt = True
            self._learn()
            raise MemoryUnavailable("the cluster does not serve this key now")
        return False

    async def _state(self, deadline: Deadline) -> Reply | Exception:
        """PONG when every slot has a primary, and every primary answers and finds the cluster well."""
        if None in self._slots:
            raise MemoryUnavailable("not every slot of the cluster is served")
        errands = [_Errand(STATE, STATE, node) for node in self._primaries.values()]
        await self._run(errands, deadline)
        for errand in errands:
            if isinstance(errand.reply, MemoryRefused) and not str(errand.reply).startswith("NOPERM"):
                return errand.reply
            if isinstance(errand.reply, bytes) and not finds_itself_well(errand.reply):
                raise MemoryUnavailable("a node of the cluster finds that not every slot is served")
        return b"PONG"

    # -- which node has what

    def _learn(self) -> None:
        if not self._closed and (self._learning is None or self._learning.done()):
            self._learning = start_task(self._learn_until_certain(), "redis-topology")

    async def _learn_until_certain(self) -> None:
        pause, certain = LEARN_AGAIN_SECONDS if self._learnt.is_set() else 0.0, False
        while not certain:
            # Half of it by chance: a cluster that lost a node is not asked by everybody at once.
            await asyncio.sleep(pause * (0.5 + random.random() / 2))
            pause = min(max(2 * pause, LEARN_AGAIN_SECONDS), LONGEST_PAUSE_SECONDS)
            self._in_doubt = False
            told = await self._learn_once()
            self._learnt.set()
            soon = Deadline.after(CONNECT_SECONDS)
            await asyncio.gather(*(node.tried(soon) for node in self._primaries.values()))
            whole = None not in self._slots and len(self._connected()) == len(self._primaries)
            certain = told and whole and not self._in_doubt

    async def _learn_once(self) -> bool:
        """By a few of the nodes that are known, and the address that was given: the first that answers is believed."""
        known = self._connected()
        random.shuffle(known)
        for node in (*known[:3], self._node(NodeAddress(self._address.host, self._address.port))):
            with suppress(MemoryUnavailable, ValueError):
                await node.tried(Deadline.after(CONNECT_SECONDS))
                (reply,) = await node.trip([QUESTION], Deadline.after(ANSWER_SECONDS))
                self._take(Topology.read(reply, node.host, by_name=self._address.tls is not None))
                return True
        return False

    def _take(self, topology: Topology) -> None:
        self._topology = topology
        self._primaries = {place: self._node(place) for _, _, place in topology.ranges}
        self._slots = [None] * SLOTS
        for first, last, place in topology.ranges:
            self._slots[first : last + 1] = [self._primaries[place]] * (last - first + 1)
        for place in self._nodes.keys() - self._primaries.keys():
            asyncio.get_running_loop().call_later(KEPT_SECONDS, self._forget, place)

    def _forget(self, place: NodeAddress) -> None:
        if place not in self._primaries and place in self._nodes:
            self._nodes.pop(place).close()

    def _connected(self) -> list[MultiplexedRedis]:
        return [node for node in self._primaries.values() if node.connected]

    def _node(self, place: NodeAddress) -> MultiplexedRedis:
        if place not in self._nodes:
            self._nodes[place] = MultiplexedRedis(self._address.of_node(*place), self._credentials, self._learn)
        return self._nodes[place]


async def _within(deadline: Deadline, waiting: Awaitable[Any]) -> None:
    """Raises `MemoryUnavailable` at the deadline."""
    try:
        async with asyncio.timeout(deadline.remaining()):
            await waiting
    except TimeoutError:
        raise MemoryUnavailable("Redis is not connected") from None
