"""A Redis or Valkey cluster, ElastiCache Serverless among them, by redis-py.

Commands go out together, each a task of its own: redis-py's cluster pipeline refuses EVALSHA, and a script cannot cross
slots anyway. The pool is bounded and waits: the default one raises when it is full.

A step goes on when its trip has stopped waiting, for as long as its socket may. Cancelled half-way, redis-py would close
the connection, or while it learns the topology all of them; and learning it may take longer than a trip, so that no trip
would ever see the end of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from redis.asyncio.cluster import RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.credentials import CredentialProvider
from redis.exceptions import NoScriptError, RedisClusterException, RedisError, ResponseError

from session.backends.address import RedisAddress
from session.deadline import Deadline
from session.failures import MemoryRefused, MemoryUnavailable
from session.keyvalue import Command, Evaluation, Reply, Step

CONNECT_SECONDS = 1.0
COMMAND_SECONDS = 0.5
AT_ONCE = 32
CONNECTIONS_PER_NODE = 2 * AT_ONCE
"""More than steps at once: connections that are being closed, and the one that asks for the topology, count too."""


class ClusteredRedis:
    """`KeyValue` over a cluster. The topology is learnt at first and again whenever a node is lost or says MOVED.

    Nothing is sent twice, but to the node that a MOVED or ASK names: a lost connection is a lost trip.
    """

    def __init__(self, address: RedisAddress, credentials: CredentialProvider | None = None) -> None:
        """`address` is that of any node."""
        self._client = RedisCluster(
            host=address.host,
            port=address.port,
            username=None if credentials else address.username,
            password=None if credentials else address.password,
            credential_provider=credentials,
            ssl=address.tls is not None,
            ssl_ca_certs=address.authority,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=COMMAND_SECONDS,
            max_connections=CONNECTIONS_PER_NODE,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
            driver_info=None,
        )
        # Replies as RESP2 has them, not as redis-py would convert them; it reads COMMAND's itself.
        for name in self._client.response_callbacks.keys() - {"COMMAND"}:
            self._client.set_response_callback(name, _as_it_came)  # type: ignore[arg-type]  # its protocol is stricter than its use
        self._client.result_callbacks.pop("PING", None)
        self._places = asyncio.Semaphore(AT_ONCE)
        self._under_way: set[asyncio.Task[Reply | Exception]] = set()
        self._closed = False

    async def connect(self, deadline: Deadline) -> None:
        """Waits until the topology is known, at most until the deadline. Never raises."""
        with suppress(MemoryUnavailable):
            await self.trip([Command(("PING",))], deadline)

    async def trip(self, steps: Sequence[Step], deadline: Deadline) -> list[Reply | Exception]:
        if self._closed or deadline.expired():
            raise MemoryUnavailable("Redis is not connected" if self._closed else "there is no time left to ask Redis")
        if not steps:
            return []
        tasks = [self._start(step, deadline) for step in steps]
        _, late = await asyncio.wait(tasks, timeout=deadline.remaining())
        if late:
            raise MemoryUnavailable("Redis did not answer in time")
        replies = [task.result() for task in tasks]
        for reply in replies:
            if isinstance(reply, MemoryUnavailable):
                raise reply
        return replies

    async def aclose(self) -> None:
        self._closed = True
        under_way = list(self._under_way)
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await self._client.aclose()
        # Which does nothing while the topology is to be learnt anew.
        await self._client.nodes_manager.aclose()
        await self._client.nodes_manager.aclose("startup_nodes")

    def _start(self, step: Step, deadline: Deadline) -> asyncio.Task[Reply | Exception]:
        task = asyncio.create_task(self._run(step, deadline), name="redis-step")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def _run(self, step: Step, deadline: Deadline) -> Reply | Exception:
        """Raises nothing: there may be nobody left to raise it to."""
        # One place a connection: redis-py raises MaxConnectionsError where a pool should wait.
        async with self._places:
            if deadline.expired():
                return MemoryUnavailable("there was no time left to ask Redis in")
            try:
                return await self._execute(step)
            except ResponseError as error:
                return MemoryRefused(str(error))
            except (RedisError, RedisClusterException, OSError):
                return MemoryUnavailable("Redis cannot be reached")

    async def _execute(self, step: Step) -> Reply:
        if not isinstance(step, Evaluation):
            return await self._client.execute_command(*step)
        try:
            return await self._client.execute_command(*step.by_digest())
        except NoScriptError:
            return await self._client.execute_command(*step.by_text())


def _as_it_came(reply: Reply, **_: Any) -> Reply:
    return reply
