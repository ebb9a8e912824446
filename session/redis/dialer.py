"""Opens a connection to one Redis and greets it."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from session.failures import MemoryRefused, MemoryUnavailable
from session.redis.address import RedisAddress
from session.redis.keyvalue import Command
from session.redis.wire import Wire

CONNECT_SECONDS = 1.0

Credentials = Callable[[], tuple[str, str]]
"""Gives user and password anew for each connection; it may block."""
MakeWire = Callable[[asyncio.AbstractEventLoop, Callable[[], None]], Wire]
"""Makes a connection's byte side, of the loop and of whom to tell when it is lost."""


class Dialer:
    """Makes connections, one at a time."""

    def __init__(self, address: RedisAddress, credentials: Credentials | None = None) -> None:
        self._address = address
        self._credentials = credentials
        # For names and credentials, which block. One thread, so that what hangs there never holds a second.
        self._thread = ThreadPoolExecutor(1, "redis-dial")
        self.closed = False

    async def dial(self, when_lost: Callable[[], None], make: MakeWire = Wire) -> Wire:
        """A connection that is greeted, within `CONNECT_SECONDS`. Raises whatever the network, the credentials or TLS raise,
        `MemoryUnavailable` where Redis falls silent and `MemoryRefused` where it does not let this user in."""
        async with asyncio.timeout(CONNECT_SECONDS):
            return await self._greeted(partial(make, asyncio.get_running_loop(), when_lost))

    def close(self) -> None:
        self.closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _greeted(self, make: Callable[[], Wire]) -> Wire:
        wire = await self._open(make)
        try:
            for command in greeting(self._address, await self._fetched()):
                (reply,) = await wire.send([command], CONNECT_SECONDS).replies()
                if isinstance(reply, Exception):
                    raise MemoryRefused("Redis refused the greeting (user, password or database)")
        except BaseException:
            wire.abort()
            raise
        return wire

    async def _open(self, make: Callable[[], Wire]) -> Wire:
        loop, address = asyncio.get_running_loop(), self._address
        if address.path is not None:
            return (await loop.create_unix_connection(make, address.path))[1]
        # asyncio would ask for the name itself, in a pool that others use and in one more thread each time it is tried.
        await loop.run_in_executor(self._thread, socket.getaddrinfo, address.host, address.port)
        try:
            return await self._connect(make, None)
        except ssl.SSLCertVerificationError:
            if address.certified is None:
                raise
            return await self._connect(make, address.certified)

    async def _connect(self, make: Callable[[], Wire], name: str | None) -> Wire:
        """Over TCP, by TLS with a certificate made out to `name`, or else to the host."""
        loop, address = asyncio.get_running_loop(), self._address
        made = await loop.create_connection(make, address.host, address.port, ssl=address.tls, server_hostname=name)
        return made[1]

    async def _fetched(self) -> tuple[str, str] | None:
        """User and password. Finding AWS credentials may ask another server: not on the event loop."""
        if self._credentials is None:
            return None
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._credentials)


def greeting(address: RedisAddress, fetched: tuple[str, str] | None) -> list[Command]:
    """What is said first on a connection. `fetched` user and password stand in for those of the address."""
    commands = [Command(("PING",))]
    if fetched is not None:
        commands.insert(0, Command(("AUTH", *fetched)))
    elif address.password is not None:
        user = (address.username,) if address.username else ()
        commands.insert(0, Command(("AUTH", *user, address.password)))
    if address.database:
        commands.append(Command(("SELECT", address.database)))
    return commands


def reason(failure: Exception) -> str:
    """What the network says of a connection that did not come about, or this package; never what somebody else's text may
    hold."""
    if isinstance(failure, MemoryUnavailable | MemoryRefused):
        return str(failure)
    said = failure.strerror if isinstance(failure, OSError) else None
    return f"{type(failure).__name__}, {said}" if said else type(failure).__name__
