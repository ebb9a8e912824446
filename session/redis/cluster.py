"""A Redis or Valkey cluster, ElastiCache Serverless among them, by the cluster client of redis-py.

Which node has which slot, and a pool of connections to each, are redis-py's. Its `execute_command` is left out: that sends
ASKING on one connection and the command on another, and closes the connections of all who wait when a slot has moved.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from redis.asyncio.cluster import ClusterNode, NodesManager, PipelineCommand
from redis.asyncio.connection import Connection
from redis.cluster import PRIMARY
from redis.crc import REDIS_CLUSTER_HASH_SLOTS as SLOTS
from redis.crc import key_slot
from redis.exceptions import (
    AskError,
    BusyLoadingError,
    ClusterDownError,
    MovedError,
    NoScriptError,
    RedisError,
    ResponseError,
    TryAgainError,
)

from session.failures import MemoryRefused, MemoryUnavailable, PartlyUnavailable
from session.redis.address import RedisAddress
from session.redis.connection import CONNECT_SECONDS, SILENCE_SECONDS, Credentials, Dialer, reason
from session.redis.keyvalue import Argument, Command, Evaluation, Reply, Step
from session.resilience.deadline import Deadline
from session.resilience.outage import Outage
from session.resilience.tasks import start_task

logger = logging.getLogger(__name__)

CONNECTIONS = 32
"""To each node; more trips than that wait for their turn, until their deadline."""
ATTEMPTS = 5
"""Times that a step is sent at most: by MOVED, ASK and an unknown script it takes four."""
LOOKS = 4
"""Turns of the loop until whatever had arrived when the time was up has been read and handed on."""
FAILURES = 3
"""In a row, before a node is told of."""
MENDING_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 1.0
NOT_NOW = (BusyLoadingError, ClusterDownError, TryAgainError)
PING = Command(("PING",))
STATE = Command(("CLUSTER", "INFO"))
_UNKNOWN = (None, "", "?")
"""What a node announces that doesn't know how others reach it: as they reached the cluster."""


@dataclass(slots=True)
class Member:
    """What is known of a node beside its slots: whether it is `away`, and who has a turn at its connections."""

    dialer: Dialer
    turns: asyncio.Semaphore
    outage: Outage
    away: bool = False


class NodeConnection(Connection):
    """redis-py's, dialled as every connection here is. One that the node has closed meanwhile is not used again."""

    def __init__(self, *, dialer_to: Callable[[str, int], Dialer], **options: Any) -> None:
        super().__init__(**options)
        self._dialer = dialer_to(self.host, self.port)

    def should_reconnect(self) -> bool:
        return self._should_reconnect or (self._reader is not None and self._reader.at_eof())

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(loop=loop)
        async with asyncio.timeout(CONNECT_SECONDS):
            if signed_in := await self._dialer.fetch_credentials():
                self.username, self.password = signed_in
            made = await self._dialer.open(partial(asyncio.StreamReaderProtocol, reader, loop=loop))
        self._reader, self._writer = reader, asyncio.StreamWriter(*made, reader, loop)


@dataclass(slots=True, eq=False)
class _RoutedStep:
    """A step on its way: what is sent for it, to which node, and what came back."""

    step: Step
    command: Command
    node: ClusterNode
    asking: bool = False
    reply: Any = None


class ClusteredRedis:
    """`KeyValue` over a cluster. A trip that needs a node which is away fails at once, and sends nothing to the others.

    PING asks every primary whether the cluster is well. What has been sent is read to its end, at most `SILENCE_SECONDS`,
    also when whoever asked no longer waits: a connection is not given up for one trip that was in a hurry.
    """

    def __init__(
        self, address: RedisAddress, credentials: Credentials | None = None, connections: int = CONNECTIONS
    ) -> None:
        """`address` is that of any node, or of an endpoint that leads to one; `credentials` as for one connection."""
        self._address, self._credentials, self._connections = address, credentials, connections
        self._members: dict[tuple[str, int], Member] = {}
        options: dict[str, Any] = {
            "connection_class": NodeConnection,
            "dialer_to": lambda host, port: self._member_at(host, port).dialer,
            "username": address.username,
            "password": address.password,
            "max_connections": 2 * connections,  # one that is being closed has no turn, and counts
            "socket_connect_timeout": CONNECT_SECONDS,
            "socket_timeout": None,  # all that is asked has its time here, which costs less than one for each reply
            "protocol": 2,
            "driver_info": None,
        }
        self._seed = ClusterNode(address.host, address.port, **options)
        self.nodes = NodesManager([self._seed], False, options, False, self._reached_as)
        self._known = asyncio.Event()
        self._mending: asyncio.Task[None] | None = None
        self._sending: set[asyncio.Task[bool]] = set()
        self._closed = False

    @property
    def dialer(self) -> Dialer:
        """Of some node: what is published on one is heard on all."""
        there = self._there()
        return self._member(random.choice(there) if there else self._seed).dialer

    @property
    def sharded(self) -> bool:
        return True

    def dialer_of(self, channel: str) -> Dialer:
        node = self.node_of(channel)
        return self._member(node).dialer if node is not None else self.dialer

    def node_of(self, key: Argument) -> ClusterNode | None:
        """The primary of its slot, if one is known."""
        served_by = self.nodes.slots_cache.get(key_slot(key if isinstance(key, bytes) else str(key).encode()))
        return served_by[0] if served_by else None

    @property
    def primaries(self) -> list[ClusterNode]:
        return self.nodes.get_nodes_by_server_type(PRIMARY)

    async def connect(self, deadline: Deadline) -> None:
        """Waits until every primary is connected, at most until the deadline. Never raises."""
        self._mend()
        if self._mending is not None:
            await asyncio.wait({self._mending}, timeout=deadline.remaining())

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        await self._until_known(deadline)
        if len(steps) == 1 and steps[0] == PING:
            return [await self._state(deadline)]
        routed = left = [self._route(step) for step in steps]
        for _ in range(ATTEMPTS):
            await self._send(left, deadline)
            left = [each for each in left if isinstance(each.reply, ResponseError) and await self._send_again(each)]
            if not left:
                return [_plain(each.reply) for each in routed]
        raise MemoryUnavailable("the cluster sends its commands round in circles")

    async def aclose(self) -> None:
        self._closed = True
        self._known.set()
        tasks = [*self._sending, *([self._mending] if self._mending is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with suppress(RedisError, OSError):
            await self._seed.disconnect()
            await self.nodes.aclose()
        self._forget_all_but([])

    async def _until_known(self, deadline: Deadline) -> None:
        """Waits for the end of the first attempt to learn the topology, good or bad."""
        if not self._known.is_set():
            self._mend()
            with suppress(TimeoutError):
                async with asyncio.timeout(deadline.remaining()):
                    await self._known.wait()
        if self._closed or not self._known.is_set():
            raise MemoryUnavailable("Redis is not connected")

    def _route(self, step: Step) -> _RoutedStep:
        key = step.keys[0] if isinstance(step, Evaluation) else step[1] if len(step) > 1 else None
        node = self.node_of(key) if key is not None else next(iter(self._there()), None)
        if node is None:
            self._mend()
            raise self._unavailable()
        return _RoutedStep(step, step.by_digest() if isinstance(step, Evaluation) else step, node)

    async def _send(self, routed: Sequence[_RoutedStep], deadline: Deadline) -> None:
        """Sends all of them, those for one node in one write, and waits for their replies."""
        groups: dict[ClusterNode, list[_RoutedStep]] = {}
        for each in routed:
            groups.setdefault(each.node, []).append(each)
        if any(self._member(node).away for node in groups):
            raise self._unavailable()
        if deadline.expired():
            raise MemoryUnavailable("there was no time left to ask Redis in")
        tasks = {asyncio.create_task(self._ask(node, group, deadline)) for node, group in groups.items()}
        self._sending |= tasks
        for task in tasks:
            task.add_done_callback(self._sending.discard)
        _, late = await asyncio.wait(tasks, timeout=deadline.remaining())
        for _ in range(LOOKS if late else 0):
            await asyncio.sleep(0)
        if not all(task.done() for task in tasks):
            raise MemoryUnavailable("Redis did not answer in time")
        if not all(not task.cancelled() and task.result() for task in tasks):
            raise self._unavailable()

    async def _ask(self, node: ClusterNode, group: Sequence[_RoutedStep], deadline: Deadline) -> bool:
        """Whether it answered. By one of the node's connections, when its turn has come."""
        commands: list[PipelineCommand] = []
        for each in group:
            commands += [PipelineCommand(0, *command) for command in ([("ASKING",)] if each.asking else []) + [each.command]]
        member = self._member(node)
        async with member.turns:
            if deadline.expired() or member.away:
                return False
            try:
                async with asyncio.timeout(SILENCE_SECONDS):
                    await node.execute_pipeline(commands)
                if losses := [each.result for each in commands if _is_loss(each.result)]:
                    raise losses[0]
            except Exception as failure:  # of the network, of TLS, of AWS or of redis-py
                self._lose(node, failure)
                return False
        replies = iter(commands)
        for each in group:
            if each.asking:
                next(replies)
            each.reply = next(replies).result
        return True

    async def _send_again(self, refused: _RoutedStep) -> bool:
        """Whether a refused step is to be sent again, and where; a refusal that is its reply is not."""
        refusal = refused.reply
        if isinstance(refused.step, Evaluation) and isinstance(refusal, NoScriptError):
            refused.command = refused.step.by_text()
        elif isinstance(refusal, AskError):
            refused.asking = not isinstance(refusal, MovedError)
            refused.node = await self._follow(refusal, refused.node)
        elif isinstance(refusal, NOT_NOW):
            self._mend()
            raise MemoryUnavailable("the cluster does not serve this key now")
        else:
            return False
        return True

    async def _follow(self, to: AskError, asked: ClusterNode) -> ClusterNode:
        """The node that another redirects to, which has the slot from now on if it has `MOVED`."""
        nodes, (host, port) = self.nodes, self._reached_as((to.host or asked.host, to.port))
        if isinstance(to, MovedError):
            to.host = host
            nodes.slots_cache.setdefault(to.slot_id, [])
            await nodes.move_slot(to)
            return nodes.slots_cache[to.slot_id][0]
        new = ClusterNode(host, port, PRIMARY, **nodes.connection_kwargs)
        return nodes.nodes_cache.setdefault(new.name, new)

    async def _state(self, deadline: Deadline) -> Reply | Exception:
        """PONG when every slot has a primary, and every primary answers and finds the cluster well."""
        asked = [_RoutedStep(STATE, STATE, node) for node in self.primaries]
        if len(self.nodes.slots_cache) == SLOTS:
            await self._send(asked, deadline)
            refusals = [each.reply for each in asked if isinstance(each.reply, ResponseError)]
            if refused := [_plain(each) for each in refusals if each.status_code != "NOPERM"]:
                return refused[0]
            if all(_finds_itself_well(each.reply) for each in asked if isinstance(each.reply, bytes)):
                return b"PONG"
        self._mend()
        raise MemoryUnavailable("not every slot of the cluster is served")

    def _member(self, node: ClusterNode) -> Member:
        return self._member_at(node.host, int(node.port))

    def _member_at(self, host: str, port: int) -> Member:
        if (host, port) not in self._members:
            dialer = Dialer(self._address.of_node(host, port), self._credentials)
            outage = Outage(logger, f"Redis at {host}:{port}", after=FAILURES)
            self._members[host, port] = Member(dialer, asyncio.Semaphore(self._connections), outage)
        return self._members[host, port]

    def _forget_all_but(self, nodes: Sequence[ClusterNode]) -> None:
        """Whoever hears by a node that has left learns of it from its dialer."""
        for where in self._members.keys() - {(node.host, int(node.port)) for node in nodes}:
            self._members.pop(where).dialer.close()

    def _there(self) -> list[ClusterNode]:
        return [node for node in self.primaries if not self._member(node).away]

    def _unavailable(self) -> MemoryUnavailable:
        """The failure of a trip that needs a node which is away."""
        return (PartlyUnavailable if self._there() and not self._closed else MemoryUnavailable)("Redis is not connected")

    def _reached_as(self, where: tuple[Any, int]) -> tuple[str, int]:
        host, port = where
        return self._address.host if host in _UNKNOWN else str(host), port

    def _lose(self, node: ClusterNode, failure: Exception) -> None:
        member = self._member(node)
        member.away = True
        member.outage.failed(_root(failure))
        self._mend()

    def _mend(self) -> None:
        """Learns the topology again in the background, and greets every primary, unless that is under way."""
        if not self._closed and (self._mending is None or self._mending.done()):
            self._mending = start_task(self._mend_until_whole(), "redis-cluster")

    async def _mend_until_whole(self) -> None:
        pause = MENDING_SECONDS if self._known.is_set() else 0.0
        while True:
            # Half of it by chance: a cluster that lost a node is not asked by everybody at once.
            await asyncio.sleep(pause * (0.5 + random.random() / 2))
            pause = min(max(2 * pause, MENDING_SECONDS), LONGEST_PAUSE_SECONDS)
            learnt = await self._learn()
            self._known.set()
            await asyncio.gather(*(self._greet(node) for node in self.primaries))
            if learnt and len(self._there()) == len(self.primaries) and len(self.nodes.slots_cache) == SLOTS:
                return

    async def _learn(self) -> bool:
        """Of any node, and of the address that was given."""
        nodes, outage = self.nodes, self._member(self._seed).outage
        nodes.startup_nodes = {self._seed.name: self._seed} | nodes.nodes_cache
        away = next((node.name for node in nodes.nodes_cache.values() if self._member(node).away), None)
        try:
            async with asyncio.timeout(SILENCE_SECONDS):
                await nodes.initialize(last_failed_node_name=away)
        except Exception as failure:  # no slots, no answer, or none that makes sense
            outage.failed(_root(failure))
            return False
        outage.over()
        await self._seed.disconnect_free_connections()
        self._forget_all_but([self._seed, *nodes.nodes_cache.values()])
        return True

    async def _greet(self, node: ClusterNode) -> None:
        try:
            async with asyncio.timeout(SILENCE_SECONDS):
                await node.execute_command("PING")
        except ResponseError:  # an answer all the same
            pass
        except Exception as failure:  # as where it is asked for more
            self._lose(node, failure)
            return
        member = self._member(node)
        member.away = False
        member.outage.over()


def _is_loss(result: Any) -> bool:
    return isinstance(result, Exception) and not isinstance(result, ResponseError)


def _plain(result: Any) -> Reply | MemoryRefused:
    """Refusals begin with their code, which redis-py keeps apart."""
    return MemoryRefused(f"{result.status_code or ''} {result}".strip()) if isinstance(result, ResponseError) else result


def _root(failure: BaseException) -> str:
    while (cause := failure.__cause__ or failure.__context__) is not None:
        failure = cause
    return reason(failure) if isinstance(failure, Exception) else type(failure).__name__


def _finds_itself_well(state: bytes) -> bool:
    """What CLUSTER INFO answers; whoever does not tell is believed to be."""
    facts = dict(line.split(b":", 1) for line in state.split() if b":" in line)
    return facts.get(b"cluster_state", b"ok") == b"ok" and int(facts.get(b"cluster_slots_ok", SLOTS)) == SLOTS
