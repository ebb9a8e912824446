"""Follows the source of the flags document, and stores the last good document for processes that start during an outage."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, suppress

from server.config.parsing import FlagsItem
from server.config.settings import Settings
from server.config.sources import Source, Unreadable, open_source
from server.flags.document import Document, DocumentError, Flags, parse
from session import keys
from session.failures import MemoryUnavailable
from session.redis.keyvalue import Command, KeyValue
from session.resilience.breaker import Outage
from session.resilience.clocks import Clock
from session.resilience.deadline import Deadline
from session.resilience.tasks import wait_for
from tools.contract import Tool
from tools.store.backends.dynamodb.tables import Table
from tools.store.failures import BackendFailure
from tools.store.models import Health

TABLE = Table("flags", "name")
DOCUMENT = "document"
DYNAMODB_SECONDS = 2.0


class DynamoSource:
    """A DynamoDB item: JSON text in the attribute `document`, with the partition key `name`. Reads are consistent, so that
    every replica sees a change at its next read."""

    def __init__(self, item: FlagsItem) -> None:
        from tools.store.backends.dynamodb.connection import Connection

        self._connection, self._item = Connection(item.address), item
        self.aclose = self._connection.aclose

    async def read(self) -> bytes:
        from tools.store.backends.aws_client import answering

        key = {TABLE.partition_key: {"S": self._item.key}}
        try:
            async with answering("flags", Deadline.after(DYNAMODB_SECONDS)):
                answer = await self._connection.call("get_item", TableName=self._item.table, Key=key, ConsistentRead=True)
        except BackendFailure as failure:
            raise Unreadable(failure.message.rstrip(".")) from failure
        if (item := answer.get("Item")) is None:
            raise Unreadable("the table has no such item")
        attribute = item.get(DOCUMENT) if isinstance(item, dict) else None
        text = attribute.get("S") if isinstance(attribute, dict) else None
        if not isinstance(text, str):
            raise Unreadable(f"the item has no attribute {DOCUMENT} that is a text")
        return text.encode("utf-8", "surrogatepass")


def open_flags_source(url: str, stack: AsyncExitStack) -> Source:
    if not url.startswith("dynamodb:"):
        return open_source(url, stack)
    source = DynamoSource(FlagsItem.parse(url))
    stack.push_async_callback(source.aclose)
    return source


logger = logging.getLogger(__name__)
POLL_SECONDS = 0.25
"""Seconds between reads: a quarter of the second within which every client's list has to show a change."""
LEAST_SECONDS = 0.1
"""Fewest seconds between two reads, however often other processes announce changes."""
TRIP_SECONDS = 0.5


class LastGood:
    """The last good document of a source, stored in the Redis that all processes share."""

    def __init__(self, redis: KeyValue, url: str) -> None:
        self._redis = redis
        self._key = keys.flags(url)

    async def read(self) -> bytes | None:
        """Returns the stored document; None if there is none or Redis does not answer."""
        try:
            (stored,) = await self._redis.trip([Command(("GET", self._key))], Deadline.after(TRIP_SECONDS))
        except MemoryUnavailable:
            return None
        return stored if isinstance(stored, bytes) else None

    async def write(self, content: bytes, *, newest: bool) -> None:
        """Stores the document, replacing a stored one only if `newest`. Ignores an unreachable Redis."""
        only_if = () if newest else ("NX",)
        with suppress(MemoryUnavailable):
            await self._redis.trip([Command(("SET", self._key, content, *only_if))], Deadline.after(TRIP_SECONDS))


class Follower:
    """Keeps `flags` up to date with the source. An invalid document or a failing source changes nothing. Until the source
    has delivered a document, the one in `last_good` is used; without that, the flags are unknown. `tools` are the registered
    tools; flags of other tools are logged."""

    def __init__(
        self,
        source: Source,
        flags: Flags,
        tools: Iterable[Tool],
        clock: Clock = time.monotonic,
        last_good: LastGood | None = None,
    ) -> None:
        self._source = source
        self._flags = flags
        self._tools = tools
        self._last_good = last_good
        self._good: bytes | None = None
        self._taken = asyncio.Event()
        self._of_fleet = False
        self._judged: bytes | None = None
        self._unknown: list[str] = []
        self._broken: str | None = None
        self._clock, self._as_source_at = clock, clock()
        self._hint = asyncio.Event()
        self._reload: Callable[[], None] | None = None
        self._outage = Outage(logger, "the source of MANGA_FLAGS_URL")

    def when_reload(self, tell: Callable[[], None]) -> None:
        """Sets the function to call when the document's `$reload` has changed."""
        self._reload = tell

    async def read_once(self) -> bool:
        """Reads the source and applies its document. Returns True if the flags have changed. Raises `Unreadable`, or
        `DocumentError` when an invalid document is read for the first time."""
        content, changed = await self._source.read(), False
        self._outage.record_recovery()
        if content != self._judged:
            try:
                document = await asyncio.to_thread(parse, content)  # on a thread: a large document takes half a second
            except DocumentError as error:
                self._judged, self._broken = content, str(error)
                raise
            self._judged, self._broken = content, None
            changed = self._take(document, content)
        if self._broken is None:
            self._of_fleet = False
            self._as_source_at = self._clock()
        return changed

    async def read_and_log(self) -> bool:
        """Reads the source as `read_once` does, but logs errors and then returns False."""
        try:
            return await self.read_once()
        except DocumentError as error:
            logger.warning("flags left as they were: %s", error)
        except Unreadable as error:
            self._outage.record_failure(f"{error}; the flags stay as they were")
        return False

    async def take_last_good(self) -> bool:
        """If no document is known, uses the one stored in Redis. Returns True if the flags have changed."""
        content = await self._last_good.read() if self._last_good and not self._flags.known else None
        if content is None:
            return False
        try:
            document = await asyncio.to_thread(parse, content)
        except DocumentError as error:
            logger.warning("the flags that the fleet has kept cannot be used: %s", error)
            return False
        logger.warning("the flags are the last good document of the fleet, until their source has one")
        self._of_fleet = True
        return self._take(document, content)

    def lag(self) -> float:
        """Returns the seconds since the flags last matched the source, or since the start."""
        return self._clock() - self._as_source_at

    def read_soon(self) -> None:
        """Starts the next read now, or `LEAST_SECONDS` after the last. Call it when a process has announced a change."""
        self._hint.set()

    async def watch(self, changed: Callable[[bool], Awaitable[None]]) -> None:
        """Reads the source repeatedly, until cancelled. Calls `changed` after every change, with True if the change is still
        to be announced to other processes, or False if `read_soon` was called before the read."""
        while True:
            await asyncio.sleep(LEAST_SECONDS)
            hinted = await wait_for(self._hint, POLL_SECONDS - LEAST_SECONDS)
            self._hint.clear()
            if await self.read_and_log() or await self.take_last_good():
                logger.info("the flags have changed")
                await changed(not hinted)

    async def share(self) -> None:
        """Stores the last good document on change and every 30 s. Replaces a stored one only if the source is well."""
        while self._last_good is not None:
            self._taken.clear()
            if self._good is not None:
                await self._last_good.write(self._good, newest=self._problem() is None and not self._of_fleet)
            await wait_for(self._taken, 30.0)  # rewrites it at least this often, as Redis may have lost it

    async def health(self, deadline: Deadline) -> Health:
        problem = self._problem()
        if not self._flags.known:
            return Health(False, f"{problem or 'it has not answered yet'}; no call is taken until a document is known")
        if self._of_fleet:
            return Health(False, f"{problem or 'it has not answered yet'}; the flags are the last good ones of the fleet")
        return Health(problem is None, problem or "")

    def _problem(self) -> str | None:
        return self._outage.why or self._broken

    def _take(self, document: Document, content: bytes) -> bool:
        self._good = content
        self._taken.set()
        unknown = document.unknown({tool.name for tool in self._tools})
        if new := [name for name in unknown if name not in self._unknown]:
            logger.warning("the flags name tools that this version does not have: %s", ", ".join(new))
        self._unknown = unknown
        if document.reload not in (None, self._flags.document.reload) and self._reload is not None:
            self._reload()
        changed = document != self._flags.document or not self._flags.known
        self._flags.document, self._flags.known = document, True
        return changed


START_SECONDS = 1.5


async def open_flags(
    settings: Settings, flags: Flags, tools: Iterable[Tool], redis: KeyValue, stack: AsyncExitStack
) -> Follower | None:
    """Reads the flags for the first time and returns their follower, or None if no source is configured. A failing source or
    an invalid document does not prevent the start: the last good document from Redis applies, else every tool is off."""
    if settings.flags_url is None:
        return None
    flags.known = False
    follower = Follower(
        open_flags_source(settings.flags_url, stack), flags, tools, last_good=LastGood(redis, settings.flags_url)
    )
    try:
        async with asyncio.timeout(START_SECONDS):
            await follower.read_and_log()
    except TimeoutError:
        logger.warning("MANGA_FLAGS_URL does not answer yet")
    await follower.take_last_good()
    if not flags.known:
        logger.warning("no flags document is known: no call is taken until MANGA_FLAGS_URL has a good one")
    return follower
