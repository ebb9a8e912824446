"""The check of the relay between replicas: publishes a message on a channel of its own, and waits for it to arrive.

The check connects as the server does: in a cluster, to the node that owns the channel."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from server.backends.opening import EMBEDDED, open_redis
from server.config.settings import Settings
from session.failures import MemoryRefused, MemoryUnavailable
from session.keys import FLEET_KEY, relay, relay_alive, relay_message
from session.redis.keyvalue import Command
from session.redis.subscriber import ListeningWire, Redis
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DOWN, OK, Check, Diagnosis, Problem, always
from session.resilience.tasks import wait_for

HEARD_SECONDS = 1.0
MESSAGE = b"doctor"
WITHOUT = "set MANGA_RELAY=off and have the balancer keep each session on its replica"
RIGHTS = (
    "allow ~manga:mcp:* &manga:mcp:* +publish +subscribe, in a cluster +spublish +ssubscribe, +get +getdel +exists +set +del"
)
AWAY = Problem("Redis cannot be asked", "see redis above: without it each replica serves its own sessions only")


def relay_check(settings: Settings, redis: Check) -> Mapping[str, tuple[str, Check]]:
    """Returns the relay's address and check, under the name "relay". Returns an empty mapping for a relay over the embedded
    Redis, which no other process can reach. `redis` is the check of Redis."""
    if settings.relay == "off":
        alone = Diagnosis(OK, "each process serves its own sessions: the balancer has to be sticky")
        return {"relay": ("off", always(alone))}
    if settings.relay.startswith("unix:"):
        folder = Path(urlsplit(settings.relay).path)
        return {"relay": (settings.relay, lambda deadline: asyncio.to_thread(_diagnose_folder, folder))}
    if settings.redis_url == EMBEDDED:
        return {}
    return {"relay": ("over redis", partial(_diagnose_redis, settings, redis))}


async def _diagnose_redis(settings: Settings, redis: Check, deadline: Deadline) -> Diagnosis:
    if (await redis(deadline)).state == DOWN:
        return Diagnosis.from_problem(AWAY)  # the check of Redis reports why
    try:
        async with AsyncExitStack() as stack:
            return await diagnose(await open_redis(settings, stack), deadline)
    except (MemoryRefused, MemoryUnavailable, OSError):
        return Diagnosis.from_problem(AWAY)


async def diagnose(redis: Redis, deadline: Deadline) -> Diagnosis:
    """Publishes a message and waits for it, as the relay does; returns the diagnosis. Raises `MemoryRefused`,
    `MemoryUnavailable` or `OSError` if Redis cannot be reached."""
    process, heard, lost = secrets.token_hex(6), asyncio.Event(), asyncio.Event()
    channel, alive, large = relay(process), relay_alive(process), relay_message(process, "doctor")
    wire = await redis.dialer_of(channel).dial(
        lost.set, partial(ListeningWire, heard=lambda said: heard.set() if said == MESSAGE else None)
    )
    try:
        subscribe = "SSUBSCRIBE" if redis.is_sharded else "SUBSCRIBE"
        (reply,) = await wire.send([Command((subscribe, channel))], deadline.remaining()).replies()
        if isinstance(reply, MemoryRefused):
            return Diagnosis.from_problem(_describe_refusal(subscribe, reply))
        for command in (  # the commands that serving sends, for a process that does not exist
            ("SET", alive, 1, "PX", 1000),
            ("EXISTS", alive),
            ("GET", FLEET_KEY),
            ("SET", large, MESSAGE, "PX", 1000),
            ("GETDEL", large),
            ("DEL", alive),
            ("SPUBLISH" if redis.is_sharded else "PUBLISH", channel, MESSAGE),
        ):
            (reply,) = await redis.trip([Command(command)], deadline)
            if isinstance(reply, MemoryRefused):
                return Diagnosis.from_problem(_describe_refusal(str(command[0]), reply))
        if not await wait_for(heard, HEARD_SECONDS):
            remedy = f"name the Redis itself in MANGA_REDIS_URL, no proxy before it; or {WITHOUT}"
            return Diagnosis(DOWN, "published messages do not arrive", remedy)
    finally:
        wire.abort()
    where = ", in the channel's own shard" if redis.is_sharded else ""
    return Diagnosis(OK, f"published and received{where}")


def _describe_refusal(command: str, refusal: MemoryRefused) -> Problem:
    """Describes a refusal by the first word of Redis's error, since the rest may contain a user's name."""
    word = str(refusal).partition(" ")[0]
    if word == "NOPERM":
        return Problem(f"its user may not {command} there", f"{RIGHTS}; or {WITHOUT}")
    if word == "ERR" and "unknown command" in str(refusal).lower():
        what = "it has no sharded channels, which the relay needs in a cluster"
        return Problem(what, f"take Redis 7 or Valkey 8 and later, or {WITHOUT}")
    return Problem(f"it refuses {command} with {word}", "look at its log, and see redis above")


def _diagnose_folder(folder: Path) -> Diagnosis:
    where = next((each for each in (folder, *folder.parents) if each.exists()), Path("/"))
    if not where.is_dir() or not os.access(where, os.W_OK | os.X_OK):
        return Diagnosis(DOWN, "no socket can be made there", "name a folder in MANGA_RELAY that this user may write to")
    if where == folder and folder.stat().st_mode & 0o077:
        return Diagnosis(DOWN, "others than its user may open it", f"chmod 700 {folder}")
    return Diagnosis(OK, "sockets in a folder, for processes of this machine")
