"""The nodes of a cluster and who has which slot: one shared connection to each primary.

It is learnt at first, and again in the background as long as there is doubt: when a node is lost, when one says MOVED, and
until every slot has a primary that is connected.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from contextlib import suppress

from redis.crc import REDIS_CLUSTER_HASH_SLOTS as SLOTS

from session.failures import MemoryUnavailable, PartlyUnavailable
from session.redis.address import RedisAddress
from session.redis.dialer import CONNECT_SECONDS, Credentials
from session.redis.multiplexed import MultiplexedRedis
from session.redis.topology import QUESTION, NodeAddress, Redirection, Topology
from session.resilience.deadline import Deadline
from session.resilience.tasks import start_task

ANSWER_SECONDS = 0.5
REFRESH_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 1.0
DRAIN_SECONDS = 10.0
"""How long a node without slots stays connected: trips may be under way there, and slots on their way to it."""


class ClusterNodes:
    """Finds the node for a slot, and keeps what it knows of the cluster up to date."""

    def __init__(self, address: RedisAddress, credentials: Credentials | None) -> None:
        self._address = address
        self._credentials = credentials
        self._nodes: dict[NodeAddress, MultiplexedRedis] = {}
        self._primaries: dict[NodeAddress, MultiplexedRedis] = {}
        self._slots: list[MultiplexedRedis | None] = [None] * SLOTS
        self._topology = Topology((), {})
        self._refreshing: asyncio.Task[None] | None = None
        self._known = asyncio.Event()
        self._in_doubt = False
        self.closed = False

    @property
    def primaries(self) -> Mapping[NodeAddress, MultiplexedRedis]:
        """The nodes that slots were last said to be on, by where they are."""
        return self._primaries

    @property
    def complete(self) -> bool:
        """Whether every slot has a primary."""
        return None not in self._slots

    def with_slot(self, slot: int) -> MultiplexedRedis | None:
        return self._slots[slot]

    def any_primary(self) -> MultiplexedRedis | None:
        """One that is connected, if one is."""
        return next(iter(self._connected()), None) or next(iter(self._primaries.values()), None)

    def anywhere(self) -> MultiplexedRedis:
        """One of those that are connected, by chance; else what leads to the cluster."""
        connected = self._connected()
        return random.choice(connected) if connected else self._node(NodeAddress(self._address.host, self._address.port))

    def unavailable(self) -> MemoryUnavailable:
        """The failure of a trip that needs a node which is away."""
        return (PartlyUnavailable if self._connected() else MemoryUnavailable)("Redis is not connected")

    async def connect(self, deadline: Deadline) -> None:
        """Waits until every primary is connected, at most until the deadline. Never raises."""
        self.refresh()
        if self._refreshing is not None:
            await asyncio.wait({self._refreshing}, timeout=deadline.remaining())

    async def known(self, deadline: Deadline) -> None:
        """Waits for the end of the first attempt to learn the topology, good or bad. Raises `MemoryUnavailable` at the
        deadline."""
        if self._known.is_set():
            return
        self.refresh()
        try:
            async with asyncio.timeout(deadline.remaining()):
                await self._known.wait()
        except TimeoutError:
            raise MemoryUnavailable("Redis is not connected") from None

    def refresh(self) -> None:
        """Learns the topology again in the background, unless that is under way."""
        if not self.closed and (self._refreshing is None or self._refreshing.done()):
            self._refreshing = start_task(self._refresh_until_certain(), "redis-topology")

    def doubt(self) -> None:
        """What is known is wrong somewhere: what is being learnt at this moment may be so too."""
        self._in_doubt = True
        self.refresh()

    def follow(self, redirection: Redirection, asked: MultiplexedRedis) -> MultiplexedRedis:
        """The node that another redirects to, which has the slot from now on unless it is for this `once`."""
        node = self._node(self._topology.locate(redirection.to, asked.address.host))
        if not redirection.once:
            self._slots[redirection.slot] = node
            self.doubt()
        return node

    async def aclose(self) -> None:
        self.closed = True
        self._known.set()
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)
        await asyncio.gather(*(node.aclose() for node in self._nodes.values()))

    async def _refresh_until_certain(self) -> None:
        pause, certain = REFRESH_SECONDS if self._known.is_set() else 0.0, False
        while not certain:
            # Half of it by chance: a cluster that lost a node is not asked by everybody at once.
            await asyncio.sleep(pause * (0.5 + random.random() / 2))
            pause = min(max(2 * pause, REFRESH_SECONDS), LONGEST_PAUSE_SECONDS)
            self._in_doubt = False
            told = await self._ask_for_topology()
            self._known.set()
            soon = Deadline.after(CONNECT_SECONDS)
            await asyncio.gather(*(node.tried(soon) for node in self._primaries.values()))
            whole = self.complete and len(self._connected()) == len(self._primaries)
            certain = told and whole and not self._in_doubt

    async def _ask_for_topology(self) -> bool:
        """A few of the nodes that are known, and the address that was given: the first that answers is believed."""
        connected = self._connected()
        random.shuffle(connected)
        for node in (*connected[:3], self._node(NodeAddress(self._address.host, self._address.port))):
            with suppress(MemoryUnavailable, ValueError):
                await node.tried(Deadline.after(CONNECT_SECONDS))
                (reply,) = await node.trip([QUESTION], Deadline.after(ANSWER_SECONDS))
                self._adopt(Topology.read(reply, node.address.host, by_name=self._address.tls is not None))
                return True
        return False

    def _adopt(self, topology: Topology) -> None:
        self._topology = topology
        self._primaries = {where: self._node(where) for _, _, where in topology.ranges}
        self._slots = [None] * SLOTS
        for first, last, where in topology.ranges:
            self._slots[first : last + 1] = [self._primaries[where]] * (last - first + 1)
        for where in self._nodes.keys() - self._primaries.keys():
            asyncio.get_running_loop().call_later(DRAIN_SECONDS, self._drop, where)

    def _drop(self, where: NodeAddress) -> None:
        if where not in self._primaries and where in self._nodes:
            self._nodes.pop(where).close()

    def _connected(self) -> list[MultiplexedRedis]:
        return [node for node in self._primaries.values() if node.connected]

    def _node(self, where: NodeAddress) -> MultiplexedRedis:
        if where not in self._nodes:
            self._nodes[where] = MultiplexedRedis(self._address.of_node(*where), self._credentials, self.refresh)
        return self._nodes[where]
