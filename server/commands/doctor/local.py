"""How what is in this process or on its disk is examined: as the server will open and use it, without changing any."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryFile

from server.backends.opening import store_files
from server.config.parsing import SettingError
from server.config.policies_file import read_vocabulary
from server.config.settings import Settings
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DEGRADED, OK, Check, Diagnosis, Problem, once
from tools.store.records.policies_file import PoliciesFileError
from tools.store.records.policies_file import load as load_policies

LEAST_FREE_BYTES = 64 * 2**20


def redis_check(stack: AsyncExitStack) -> Check:
    async def check(deadline: Deadline) -> Diagnosis:
        from session.failures import MemoryUnavailable
        from session.redis.diagnosis import told_by
        from session.redis.embedded import embedded_redis

        try:
            return await told_by(await stack.enter_async_context(embedded_redis()), deadline)
        except MemoryUnavailable as failure:
            return Diagnosis.of(Problem(str(failure), "set MANGA_REDIS_URL to a Redis of your own"))

    return check


def catalog_check(settings: Settings) -> Check:
    async def check(deadline: Deadline) -> Diagnosis:
        from tools.store.records.catalog_file import CatalogFileError, load
        from tools.store.records.schemas import find_oddities

        try:
            vocabulary = read_vocabulary(settings)
            records = await asyncio.to_thread(load, settings.catalog_file, vocabulary)
        except CatalogFileError as error:
            return Diagnosis.of(Problem(str(error), "correct the file, or MANGA_CATALOG_FILE"))
        except SettingError as error:
            return Diagnosis.of(Problem(str(error), "correct the file"))
        odd = list(find_oddities(records, vocabulary=vocabulary))
        said = f"; {len(odd)} oddities, the first: {odd[0]}" if odd else ""
        return Diagnosis(OK, f"{len(records):,} titles in this process{said}")

    return check


def store_check(settings: Settings) -> Check:
    """Asks titles, stock, releases and orders together: they are filled in one go."""

    async def opened(deadline: Deadline) -> Diagnosis:
        from tools.store.backends.embedded.stock_and_orders import EmbeddedStore
        from tools.store.records.catalog_file import CatalogFileError, load
        from tools.store.records.store_files import StoreFileError

        try:
            records = await asyncio.to_thread(load, settings.catalog_file)
            offers = [(title.title_id, sold) for title, sold in records]
            async with EmbeddedStore.open(offers, *store_files(settings)) as store:
                health = await store.health(deadline)
        except CatalogFileError as error:
            return Diagnosis.of(Problem(str(error), "correct the file, or MANGA_CATALOG_FILE"))
        except StoreFileError as error:
            return Diagnosis.of(Problem(str(error), "correct the file, or MANGA_ORDERS_FILE, MANGA_VOLUMES_FILE"))
        if not health.ok:
            return Diagnosis.of(Problem(health.detail, "correct the files it is filled from"))
        return Diagnosis(OK, "in this process, from files")

    return once(opened)


def on_a_thread(examined: Callable[[Path], Diagnosis], path: Path) -> Check:
    """A disk that hangs is waited for no longer than anything else."""

    async def check(deadline: Deadline) -> Diagnosis:
        return await asyncio.to_thread(examined, path)

    return check


def audit(path: Path) -> Diagnosis:
    """Opens it to append, as the server does, or tries its folder where it is not there yet."""
    try:
        if path.exists():
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
        else:
            _try_to_write(path.parent)
    except OSError as error:
        return Diagnosis.of(
            Problem(f"it cannot be written: {error.strerror}", "check MANGA_AUDIT_LOG, and the owner and mode")
        )
    return _room_on(path.parent, "make room, or no order access can be written down")


def data(folder: Path) -> Diagnosis:
    """Tries the folder, without which nothing but time is lost."""
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    try:
        _try_to_write(nearest)
    except OSError as error:
        what = f"nothing can be kept in it ({error.strerror}): vectors are computed at every start"
        return Diagnosis.of(Problem(what, "set XDG_CACHE_HOME to a folder that this user may write to"), state=DEGRADED)
    return _room_on(nearest, "make room, or set XDG_CACHE_HOME to a folder elsewhere")


def pages(folder: Path) -> Diagnosis:
    """Lists it, and tells whether anything is in it."""
    try:
        with os.scandir(folder) as entries:
            some = next((True for each in entries if each.is_dir(follow_symlinks=False)), False)
    except OSError as error:
        return Diagnosis.of(Problem(f"it cannot be read: {error.strerror}", "check MANGA_PAGES_URL, and the owner and mode"))
    if not some:
        return Diagnosis.of(Problem("it has no folder of a title", "put TITLE_ID/VOLUME/1.webp into it"), state=DEGRADED)
    return Diagnosis(OK, "a directory")


def policies(path: Path) -> Diagnosis:
    """Reads it as the server does."""
    try:
        found = load_policies(path)
    except PoliciesFileError as error:
        return Diagnosis.of(Problem(str(error), "correct the file, or MANGA_POLICIES_FILE"))
    return Diagnosis(OK, f"{len(found.topics)} topics in {len({language for _, language in found.texts})} languages")


def _try_to_write(folder: Path) -> None:
    with TemporaryFile(dir=folder) as file:
        file.write(b"\0")


def _room_on(folder: Path, remedy: str) -> Diagnosis:
    free = shutil.disk_usage(folder).free
    said = f"{free / 2**30:,.1f} GB free"
    return Diagnosis(OK, said) if free >= LEAST_FREE_BYTES else Diagnosis.of(Problem(said, remedy), state=DEGRADED)
