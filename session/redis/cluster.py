"""A Redis or Valkey cluster, ElastiCache Serverless among them.

Each step goes to the node that has its key's slot, and all steps for a node in one write. A node that knows better says so
(MOVED, ASK) and is followed. Why this is not a library's: tests/load/README.md, "Clients of a cluster".
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from redis.crc import key_slot

from session.failures import MemoryRefused, MemoryUnavailable
from session.redis.address import RedisAddress
from session.redis.dialer import Credentials, Dialer
from session.redis.keyvalue import Command, Evaluation, Reply, Step
from session.redis.multiplexed import MultiplexedRedis, is_unknown_script
from session.redis.nodes import ClusterNodes
from session.redis.topology import Redirection, finds_itself_well, slot_of
from session.redis.wire import Trip
from session.resilience.deadline import Deadline

MOST_TRIPS = 1000
"""Trips at once; more of them wait for their turn."""
ATTEMPTS = 5
"""Times that a step is sent at most: by MOVED, ASK and an unknown script it takes four."""
NOT_NOW = ("CLUSTERDOWN", "TRYAGAIN", "LOADING", "MASTERDOWN")
ASKING = Command(("ASKING",))
PING = Command(("PING",))
STATE = Command(("CLUSTER", "INFO"))


@dataclass(slots=True, eq=False)
class _RoutedStep:
    """A step on its way: what is sent for it, to which node, and what came back."""

    step: Step
    command: Command
    node: MultiplexedRedis
    asking: bool = False
    reply: Reply | Exception = None

    @property
    def commands(self) -> tuple[Command, ...]:
        return (ASKING, self.command) if self.asking else (self.command,)


class ClusteredRedis:
    """`KeyValue` over a cluster. A trip that needs a node which is away fails at once, and sends nothing to the others.

    PING asks every primary whether the cluster is well.
    """

    def __init__(
        self,
        address: RedisAddress,
        credentials: Credentials | None = None,
        most_trips: int = MOST_TRIPS,
    ) -> None:
        """`address` is that of any node, or of an endpoint that leads to one; `credentials` as for one connection."""
        self.nodes = ClusterNodes(address, credentials)
        self._turns = asyncio.Semaphore(most_trips)

    @property
    def dialer(self) -> Dialer:
        """Of some node: what is published on one is heard on all."""
        return self.nodes.anywhere().dialer

    @property
    def sharded(self) -> bool:
        return True

    def dialer_of(self, channel: str) -> Dialer:
        return (self.nodes.with_slot(key_slot(channel.encode())) or self.nodes.anywhere()).dialer

    async def connect(self, deadline: Deadline) -> None:
        """Waits until every primary is connected, at most until the deadline. Never raises."""
        await self.nodes.connect(deadline)

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        await self._turn(deadline)
        try:
            await self.nodes.known(deadline)
            if len(steps) == 1 and steps[0] == PING:
                return [await self._state(deadline)]
            return await self._follow([self._route(step) for step in steps], deadline)
        finally:
            self._turns.release()

    async def aclose(self) -> None:
        await self.nodes.aclose()

    async def _turn(self, deadline: Deadline) -> None:
        """Takes one of the turns of those that go at once. Raises `MemoryUnavailable` at the deadline."""
        if not self._turns.locked():
            await self._turns.acquire()
            return
        try:
            async with asyncio.timeout(deadline.remaining()):
                await self._turns.acquire()
        except TimeoutError:
            raise MemoryUnavailable("Redis is not connected") from None

    async def _follow(self, routed: Sequence[_RoutedStep], deadline: Deadline) -> list[Reply | Exception]:
        """The replies to all of them, wherever they are sent on to."""
        left = routed
        for _ in range(ATTEMPTS):
            await self._send(left, deadline)
            left = [each for each in left if isinstance(each.reply, MemoryRefused) and self._send_again(each)]
            if not left:
                return [each.reply for each in routed]
        raise MemoryUnavailable("the cluster sends its commands round in circles")

    def _route(self, step: Step) -> _RoutedStep:
        slot = slot_of(step)
        node = self.nodes.with_slot(slot) if slot is not None else self.nodes.any_primary()
        if node is None or self.nodes.closed:
            self.nodes.refresh()
            raise self.nodes.unavailable()
        return _RoutedStep(step, step.by_digest() if isinstance(step, Evaluation) else step, node)

    async def _send(self, routed: Iterable[_RoutedStep], deadline: Deadline) -> None:
        """Sends all of them, those for one node in one write, and waits for their replies."""
        groups: dict[MultiplexedRedis, list[_RoutedStep]] = {}
        for each in routed:
            groups.setdefault(each.node, []).append(each)
        for node in groups:
            await node.tried(deadline)
        for trip, group in zip(self._sent(groups, deadline), groups.values(), strict=True):
            replies = iter(await trip.replies())
            for each in group:
                if each.asking:
                    next(replies)
                each.reply = next(replies)

    def _sent(self, groups: dict[MultiplexedRedis, list[_RoutedStep]], deadline: Deadline) -> list[Trip]:
        """To all of the nodes or, where one of them is away, to none."""
        try:
            wires = [node.wire() for node in groups]
        except MemoryUnavailable:
            raise self.nodes.unavailable() from None
        return [
            wire.send([command for each in group for command in each.commands], deadline.remaining())
            for wire, group in zip(wires, groups.values(), strict=True)
        ]

    def _send_again(self, refused: _RoutedStep) -> bool:
        """Whether a refused step is to be sent again, and where; a refusal that is its reply is not."""
        refusal = str(refused.reply)
        if isinstance(refused.step, Evaluation) and is_unknown_script(refused.reply):
            refused.command = refused.step.by_text()
            return True
        if redirection := Redirection.read(refusal):
            refused.node = self.nodes.follow(redirection, refused.node)
            refused.asking = redirection.once
            return True
        if refusal.startswith(NOT_NOW):
            self.nodes.doubt()
            raise MemoryUnavailable("the cluster does not serve this key now")
        return False

    async def _state(self, deadline: Deadline) -> Reply | Exception:
        """PONG when every slot has a primary, and every primary answers and finds the cluster well."""
        if not self.nodes.complete:
            raise MemoryUnavailable("not every slot of the cluster is served")
        asked = [_RoutedStep(STATE, STATE, node) for node in self.nodes.primaries.values()]
        await self._send(asked, deadline)
        for each in asked:
            if isinstance(each.reply, MemoryRefused) and not str(each.reply).startswith("NOPERM"):
                return each.reply
            if isinstance(each.reply, bytes) and not finds_itself_well(each.reply):
                raise MemoryUnavailable("a node of the cluster finds that not every slot is served")
        return b"PONG"
