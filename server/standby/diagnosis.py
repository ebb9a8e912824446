"""What is wrong with the standby catalogue's place, or with what lies there, found out from its first line."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack

from server.backends import open_redis
from server.config.settings import Settings
from server.config.urls import IN_REDIS
from server.standby.bundle import FULL, BundleError, Manifest
from server.standby.opening import open_place
from server.standby.places import UnreachableError
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DEGRADED, OK, Diagnosis, Problem
from tools.store.backends.embedded.computed import FORMAT
from tools.store.ports import Embedder

SEED = "run: python -m infra.seed --catalog FILE, with these settings"


async def diagnose(settings: Settings, embedder: Embedder | None, stack: AsyncExitStack, deadline: Deadline) -> Diagnosis:
    """Never raises. Reads no more than the beginning: whether it is whole is found out when it is loaded."""
    assert settings.standby_url is not None
    try:
        async with asyncio.timeout(deadline.less(0.5).remaining()):
            redis = await open_redis(settings, stack) if settings.standby_url == IN_REDIS else None
            place = await open_place(settings.standby_url, redis, stack)
            head = await place.head()
    except TimeoutError:
        return Diagnosis.of(Problem("it does not answer", "check MANGA_STANDBY_URL"), state=DEGRADED)
    except UnreachableError as error:
        return Diagnosis.of(Problem(str(error), "check MANGA_STANDBY_URL, and who may read there"), state=DEGRADED)
    if not head:
        return Diagnosis.of(Problem("there is no bundle", SEED), state=DEGRADED)
    try:
        return _of(Manifest.read(head.partition(b"\n")[0]), settings.standby, embedder)
    except BundleError as error:
        return Diagnosis.of(Problem(str(error), SEED), state=DEGRADED)


def _of(manifest: Manifest, kind: str, embedder: Embedder | None) -> Diagnosis:
    told = f"{manifest.titles:,} titles ({manifest.kind}), made {(time.time() - manifest.made) / 3600:.1f} h ago"
    if manifest.kind != kind:
        return Diagnosis.of(Problem(f"it holds {manifest.kind}, MANGA_STANDBY says {kind}", SEED), state=DEGRADED)
    mine = embedder.name if embedder is not None and kind == FULL else None
    if mine is not None and (manifest.embedder, manifest.computed) != (mine, FORMAT):
        return Diagnosis.of(Problem(f"{told}; its vectors are not of MANGA_EMBEDDER", SEED), state=DEGRADED)
    return Diagnosis(OK, told)
