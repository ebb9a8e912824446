"""How each dependency is asked, directly: a breaker or a pool would only hide what is the matter."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

from server.backends import EMBEDDED, default_data_dir, open_embedder, redis_credentials, store_files
from server.config.parsing import SettingError
from server.config.settings import Settings
from session.redis.address import RedisAddress
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import OK, Diagnosis, Problem
from tools.store.failures import BackendFailure, InternalFailure, TimedOut
from tools.store.ports import Embedder

Check = Callable[[Deadline], Awaitable[Diagnosis]]


async def checks_of(settings: Settings, stack: AsyncExitStack) -> dict[str, tuple[str, Check]]:
    """Where each is and how it is asked, in the order of the table."""
    embedder: Embedder | None = None
    embedding = _always(Diagnosis(OK, "none: search is by words alone"))
    try:
        embedder = await open_embedder(settings, stack)
        if embedder is not None:
            embedding = _embedder_check(settings, embedder)
    except SettingError as error:
        what, _, remedy = str(error).partition(": ")
        embedding = _always(Diagnosis.of(Problem(f"{what} cannot be used", remedy)))
    return {
        "catalog": _catalog(settings, embedder, stack),
        **_store(settings, stack),
        "redis": _redis(settings, stack),
        **_issuer(settings),
        **_files(settings),
        "embedder": (settings.embedder, embedding),
    }


def _always(diagnosis: Diagnosis) -> Check:
    async def check(deadline: Deadline) -> Diagnosis:
        return diagnosis

    return check


def _catalog(settings: Settings, embedder: Embedder | None, stack: AsyncExitStack) -> tuple[str, Check]:
    if settings.catalog_url == EMBEDDED:
        return f"{EMBEDDED} {settings.catalog_file.name}", _embedded_catalog(settings)
    from tools.store.backends.opensearch.address import OpenSearchAddress
    from tools.store.backends.opensearch.diagnosis import diagnose

    address = OpenSearchAddress.parse(settings.catalog_url)
    return str(address), lambda deadline: diagnose(address, embedder, deadline)


def _store(settings: Settings, stack: AsyncExitStack) -> dict[str, tuple[str, Check]]:
    if settings.store_url == EMBEDDED:
        check = _embedded_store(settings)
        profile = _always(Diagnosis(OK, "in this process, until it ends"))
        return {**dict.fromkeys(("titles", "stock", "orders"), (EMBEDDED, check)), "profile": (EMBEDDED, profile)}
    from tools.store.backends.dynamodb.address import DynamoAddress
    from tools.store.backends.dynamodb.connection import Connection
    from tools.store.backends.dynamodb.diagnosis import diagnose
    from tools.store.backends.dynamodb.tables import TABLES, Table

    address = DynamoAddress.parse(settings.store_url)
    connection = Connection(address)
    stack.push_async_callback(connection.aclose)
    where = f"dynamodb://{address}"

    def of(table: Table) -> Check:
        return lambda deadline: diagnose(connection, table, deadline)

    return {table.name: (where, of(table)) for table in TABLES}


def _redis(settings: Settings, stack: AsyncExitStack) -> tuple[str, Check]:
    from session.redis import diagnosis

    if settings.redis_url == EMBEDDED:
        return EMBEDDED, _embedded_redis(stack)
    address = RedisAddress.parse(settings.redis_url)
    signed_in = redis_credentials(address)
    credentials = signed_in.get_credentials if signed_in else None
    where = f"{urlsplit(settings.redis_url).scheme}://{address}"
    return where, lambda deadline: diagnosis.diagnose(address, credentials, deadline)


def _issuer(settings: Settings) -> dict[str, tuple[str, Check]]:
    url = settings.jwt_jwks_url
    if url is None:
        return {}
    from server.identity.jwt.diagnosis import diagnose, where

    return {"issuer": (where(url), lambda deadline: diagnose(url, deadline))}


def _files(settings: Settings) -> dict[str, tuple[str, Check]]:
    """Those that are set; the data folder too where the catalogue is in this process and keeps its vectors there."""
    from server.commands.doctor import files

    found: dict[str, tuple[str, Check]] = {}
    if path := settings.flags_file():
        found["flags"] = (str(path), _on_a_thread(files.flags, path))
    if path := settings.audit_log:
        found["audit"] = (str(path), _on_a_thread(files.audit, path))
    if settings.data_dir or settings.catalog_url == EMBEDDED:
        folder = settings.data_dir or default_data_dir()
        found["data"] = (str(folder), _on_a_thread(files.data, folder))
    return found


def _on_a_thread(examined: Callable[[Path], Diagnosis], path: Path) -> Check:
    """A disk that hangs is waited for no longer than anything else."""

    async def check(deadline: Deadline) -> Diagnosis:
        return await asyncio.to_thread(examined, path)

    return check


def _embedded_redis(stack: AsyncExitStack) -> Check:
    async def check(deadline: Deadline) -> Diagnosis:
        from session.failures import MemoryUnavailable
        from session.redis.diagnosis import told_by
        from session.redis.embedded import embedded_redis

        try:
            return await told_by(await stack.enter_async_context(embedded_redis()), deadline)
        except MemoryUnavailable as failure:
            return Diagnosis.of(Problem(str(failure), "set MANGA_REDIS_URL to a Redis of your own"))

    return check


def _embedded_catalog(settings: Settings) -> Check:
    async def check(deadline: Deadline) -> Diagnosis:
        from tools.store.backends.embedded.records import CatalogFileError, load

        try:
            records = await asyncio.to_thread(load, settings.catalog_file)
        except CatalogFileError as error:
            return Diagnosis.of(Problem(str(error), "correct the file, or MANGA_CATALOG_FILE"))
        return Diagnosis(OK, f"{len(records):,} titles in this process")

    return check


def _embedded_store(settings: Settings) -> Check:
    """Of titles, stock and orders together: they are filled in one go."""

    async def opened(deadline: Deadline) -> Diagnosis:
        from tools.store.backends.embedded.records import CatalogFileError, load
        from tools.store.backends.embedded.stock_and_orders import EmbeddedStore
        from tools.store.backends.embedded.store_files import StoreFileError

        try:
            records = await asyncio.to_thread(load, settings.catalog_file)
            offers = [(title.title_id, sold) for title, sold in records]
            async with EmbeddedStore.open(offers, *store_files(settings)) as store:
                health = await store.health(deadline)
        except (CatalogFileError, StoreFileError) as error:
            return Diagnosis.of(Problem(str(error), "correct the file, or MANGA_CATALOG_FILE"))
        if not health.ok:
            return Diagnosis.of(Problem(health.detail, "correct the files it is filled from"))
        return Diagnosis(OK, "in this process, from files")

    return _once(opened)


def _once(check: Check) -> Check:
    asked: list[asyncio.Task[Diagnosis]] = []

    async def shared(deadline: Deadline) -> Diagnosis:
        if not asked:
            asked.append(asyncio.ensure_future(check(deadline)))
        return await asyncio.shield(asked[0])

    return shared


def _embedder_check(settings: Settings, embedder: Embedder) -> Check:
    async def check(deadline: Deadline) -> Diagnosis:
        try:
            await embedder.embed(["漫画"], deadline.less(0.1))
        except TimedOut:
            return Diagnosis.of(Problem("it does not answer", "wait if the machine is busy; else look at its quotas"))
        except (BackendFailure, InternalFailure) as failure:
            return Diagnosis.of(_embedder_problem(settings, failure))
        return Diagnosis(OK, f"{embedder.name}, {embedder.dimensions} dimensions")

    return check


def _embedder_problem(settings: Settings, failure: BackendFailure | InternalFailure) -> Problem:
    if settings.embedder == "local" or isinstance(failure, InternalFailure):
        return Problem(failure.message, "install the locked requirements again, or set MANGA_EMBEDDER=none")
    from tools.store.backends.bedrock.diagnosis import problem_of

    return problem_of(failure)
