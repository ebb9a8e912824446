"""`python -m server doctor`: every dependency, what is wrong with it, and what to do about it.

Each is asked directly and all at once, without the application around it: a breaker or a pool would only hide what is the
matter. It is over within some five seconds whatever hangs: a name server, a cluster, a disk.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from threading import Thread
from typing import Any, TypeVar
from urllib.parse import urlsplit

from server.backends import EMBEDDED, open_embedder, redis_credentials, store_files
from server.parsing import SettingError
from server.settings import Settings
from session.backends.address import RedisAddress
from session.deadline import Deadline
from session.diagnosis import OK, Diagnosis, Problem
from tools.failures import BackendFailure, InternalFailure, TimedOut
from tools.ports import Embedder

MOST_SECONDS = 4.5
HEAD_START_SECONDS = 1.0
T = TypeVar("T")
Check = Callable[[Deadline], Awaitable[Diagnosis]]


@dataclass(frozen=True, slots=True)
class Finding:
    """`latency_ms` is what the whole examination took, connecting included. `where` shows no secret."""

    name: str
    where: str
    state: str
    latency_ms: float
    version: str | None
    detail: str
    remedy: str | None


async def examine(settings: Settings, *, as_json: bool = False) -> int:
    """Prints a table, or JSON. Exit status 0 when everything is well, 1 when something is not."""
    asyncio.get_running_loop().set_default_executor(_Unawaited())
    started = time.monotonic()
    findings = await _findings(settings)
    seconds = time.monotonic() - started
    well = all(each.state == OK for each in findings)
    print(_json(findings, well, seconds) if as_json else _table(findings, well, seconds))
    return 0 if well else 1


async def _findings(settings: Settings) -> list[Finding]:
    deadline = Deadline.after(MOST_SECONDS)
    async with AsyncExitStack() as stack:
        checks = await _checks(settings, stack)
        where, embedding = checks.pop("embedder")
        others = [asyncio.create_task(_found(name, at, check, deadline)) for name, (at, check) in checks.items()]
        # An encoder is loaded at the cost of everything else in the process, and clocks are running.
        await asyncio.wait(others, timeout=HEAD_START_SECONDS)
        embedder = await _found("embedder", where, embedding, deadline)
        return [*await asyncio.gather(*others), embedder]


async def _found(name: str, where: str, check: Check, deadline: Deadline) -> Finding:
    started = time.monotonic()
    try:
        async with asyncio.timeout(deadline.remaining()):
            diagnosis = await check(deadline)
    except TimeoutError:
        diagnosis = Diagnosis.of(Problem("it does not answer", "look at its load and log"))
    latency_ms = round((time.monotonic() - started) * 1000, 1)
    return Finding(
        name, where, diagnosis.state, latency_ms, diagnosis.version, diagnosis.detail.rstrip("."), diagnosis.remedy
    )


async def _checks(settings: Settings, stack: AsyncExitStack) -> dict[str, tuple[str, Check]]:
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
        "embedder": (settings.embedder, embedding),
    }


def _always(diagnosis: Diagnosis) -> Check:
    async def check(deadline: Deadline) -> Diagnosis:
        return diagnosis

    return check


def _catalog(settings: Settings, embedder: Embedder | None, stack: AsyncExitStack) -> tuple[str, Check]:
    if settings.catalog_url == EMBEDDED:
        return f"{EMBEDDED} {settings.catalog_file.name}", _embedded_catalog(settings)
    from tools.backends.opensearch.address import OpenSearchAddress
    from tools.backends.opensearch.diagnosis import diagnose

    address = OpenSearchAddress.parse(settings.catalog_url)
    return str(address), lambda deadline: diagnose(address, embedder, deadline)


def _store(settings: Settings, stack: AsyncExitStack) -> dict[str, tuple[str, Check]]:
    if settings.store_url == EMBEDDED:
        check = _embedded_store(settings)
        return {"stock": (EMBEDDED, check), "orders": (EMBEDDED, check)}
    from tools.backends.dynamodb.address import DynamoAddress
    from tools.backends.dynamodb.connection import Connection
    from tools.backends.dynamodb.diagnosis import diagnose
    from tools.backends.dynamodb.tables import ORDERS, STOCK

    address = DynamoAddress.parse(settings.store_url)
    connection = Connection(address)
    stack.push_async_callback(connection.aclose)
    where = f"dynamodb://{address}"
    return {
        "stock": (where, lambda deadline: diagnose(connection, STOCK, deadline)),
        "orders": (where, lambda deadline: diagnose(connection, ORDERS, deadline)),
    }


def _redis(settings: Settings, stack: AsyncExitStack) -> tuple[str, Check]:
    from session.backends import diagnosis

    if settings.redis_url == EMBEDDED:
        return EMBEDDED, _embedded_redis(stack)
    address = RedisAddress.parse(settings.redis_url)
    signed_in = redis_credentials(address)
    credentials = signed_in.get_credentials if signed_in else None
    where = f"{urlsplit(settings.redis_url).scheme}://{address}"
    return where, lambda deadline: diagnosis.diagnose(address, credentials, deadline)


def _embedded_redis(stack: AsyncExitStack) -> Check:
    async def check(deadline: Deadline) -> Diagnosis:
        from session.backends.diagnosis import told_by
        from session.backends.embedded import embedded_redis
        from session.failures import MemoryUnavailable

        try:
            return await told_by(await stack.enter_async_context(embedded_redis()), deadline)
        except MemoryUnavailable as failure:
            return Diagnosis.of(Problem(str(failure), "set MANGA_REDIS_URL to a Redis of your own"))

    return check


def _embedded_catalog(settings: Settings) -> Check:
    async def check(deadline: Deadline) -> Diagnosis:
        from tools.backends.embedded.records import CatalogFileError, load

        try:
            records = await asyncio.to_thread(load, settings.catalog_file)
        except CatalogFileError as error:
            return Diagnosis.of(Problem(str(error), "correct the file, or MANGA_CATALOG_FILE"))
        return Diagnosis(OK, f"{len(records):,} titles in this process")

    return check


def _embedded_store(settings: Settings) -> Check:
    """Of stock and orders together: they are filled in one go."""

    async def opened(deadline: Deadline) -> Diagnosis:
        from tools.backends.embedded.records import CatalogFileError, load
        from tools.backends.embedded.stock_and_orders import EmbeddedStore
        from tools.backends.embedded.store_files import StoreFileError

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
    from tools.backends.bedrock.diagnosis import problem_of

    return problem_of(failure)


def _table(findings: Sequence[Finding], well: bool, seconds: float) -> str:
    rows = [("dependency", "where", "state", "ms", "version", "what to know"), *map(_row, findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    remedies = [f"{each.name}: {each.remedy}" for each in findings if each.remedy]
    ending = f"{'all well' if well else 'not well'}, in {seconds:.1f} s"
    return "\n".join([*lines, "", *(["what to do", *(f"  {line}" for line in remedies), ""] if remedies else []), ending])


def _row(finding: Finding) -> tuple[str, ...]:
    latency = f"{finding.latency_ms:.1f}"
    return (finding.name, finding.where, finding.state, latency, finding.version or "", finding.detail)


def _json(findings: Sequence[Finding], well: bool, seconds: float) -> str:
    report: Mapping[str, Any] = {
        "well": well,
        "seconds": round(seconds, 2),
        "dependencies": [asdict(each) for each in findings],
    }
    return json.dumps(report, ensure_ascii=False, indent=2)


class _Unawaited(ThreadPoolExecutor):
    """Threads that nobody waits for at the end: a name server or a disk that hangs would hold up the report otherwise."""

    def submit(self, work: Callable[..., T], /, *arguments: Any, **named: Any) -> Future[T]:
        promised: Future[T] = Future()

        def run() -> None:
            if not promised.set_running_or_notify_cancel():
                return
            try:
                promised.set_result(work(*arguments, **named))
            except BaseException as error:  # it is the caller's, as with every executor
                promised.set_exception(error)

        Thread(target=run, daemon=True, name="doctor").start()
        return promised

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing to wait for."""
