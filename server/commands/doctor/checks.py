"""The checks of `doctor`: the address of each configured dependency, its check, and the remedy for each failure.

Checks bypass circuit breakers and connection pools, which would hide problems. Embedded backends and files on disk are
opened as the server opens them, and are not changed."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Collection
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar
from urllib.parse import urlsplit

from server.backends import opening
from server.backends.opening import EMBEDDED
from server.commands.doctor.relay import relay_check
from server.commands.tools import load_tools
from server.config.parsing import SettingError, file_of, without_query
from server.config.settings import Settings, describe_policies, read_policies, read_vocabulary
from server.config.sources import Unreadable
from server.flags.document import Flag, parse
from server.flags.follower import open_flags_source
from server.packages.loading import GROUP
from server.packages.packages import ReloadReport
from session.redis.address import RedisAddress
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DEGRADED, DOWN, OK, Check, Diagnosis, Problem, always, network_problem, once
from tools.store.failures import BackendFailure, InternalFailure, TimedOut
from tools.store.models import CatalogTerms
from tools.store.ports import Embedder

T = TypeVar("T")
LEAST_FREE_BYTES = 64 * 2**20
Checks = dict[str, tuple[str, Check]]
"""Maps each dependency's name to its address (without secrets) and its check."""
KEEPS = "a running server keeps its last version"
REMEDIES = {
    "CatalogFileError": "correct the file, or MANGA_CATALOG_FILE",
    "StoreFileError": "correct the file, or MANGA_ORDERS_FILE, MANGA_VOLUMES_FILE",
    "SettingError": "correct the file",
    "DocumentError": f"correct it; {KEEPS}",
    "MemoryUnavailable": "set MANGA_REDIS_URL to a Redis of your own",
}
"""Remedies by the class name of the error that a check raises, so that the defining modules need not be imported."""


async def list_checks(settings: Settings, stack: AsyncExitStack) -> Checks:
    embedder, embedder_check = await _open_embedder(settings, stack)
    registry, packages = await load_tools(settings, 2.0)  # shorter than a server's timeout: other checks follow
    redis = _redis_check(settings, stack)
    checks: Checks = {"catalog": _catalog_check(settings, embedder)}
    if url := settings.standby_url:
        from server.standby import opening as standby

        checks["standby"] = without_query(url), partial(standby.diagnose, settings, embedder, stack)
    checks |= _store_checks(settings, stack)
    checks["pages"] = _pages_check(settings, stack)
    checks["redis"] = redis
    checks |= relay_check(settings, redis[1])
    if url := settings.jwt_jwks_url:
        from server.identity.jwt.verifier import diagnose as diagnose_issuer

        checks["issuer"] = without_query(url), partial(diagnose_issuer, url)
    if packages.packages or packages.problem is not None:
        checks["packages"] = GROUP, always(_diagnose_packages(packages))
    if url := settings.flags_url:
        checks["flags"] = without_query(url), partial(_diagnose_flags, url, stack, [tool.name for tool in registry])
    if settings.classifier != "local":
        checks["classifier"] = settings.classifier, await _classifier_check(settings, stack)
    if settings.workers > 1:
        checks["workers"] = str(settings.workers), always(diagnose_workers(settings.workers))
    checks["policies"] = (
        settings.policies_file.name if settings.policies_file else EMBEDDED,
        _on_thread(_diagnose_policies, settings),
    )
    if settings.audit_log:
        checks["audit"] = str(settings.audit_log), _on_thread(_diagnose_audit, settings.audit_log)
    if settings.data_dir or settings.catalog_url == EMBEDDED:
        folder = settings.data_dir or opening.default_data_dir()
        checks["data"] = str(folder), _on_thread(_diagnose_data_folder, folder)
    return checks | {"embedder": (settings.embedder, embedder_check)}


def _on_thread(diagnose: Callable[[T], Diagnosis], subject: T) -> Check:
    """Returns a check that runs `diagnose` on a thread, so that the check times out if the disk hangs."""
    return lambda deadline: asyncio.to_thread(diagnose, subject)


def _catalog_check(settings: Settings, embedder: Embedder | None) -> tuple[str, Check]:
    if settings.catalog_url == EMBEDDED:
        return f"{EMBEDDED} {settings.catalog_file.name}", _on_thread(_diagnose_catalog, settings)
    from tools.store.backends.opensearch.address import OpenSearchAddress
    from tools.store.backends.opensearch.diagnosis import diagnose

    address = OpenSearchAddress.parse(settings.catalog_url)
    return str(address), partial(diagnose, address, embedder, titles=settings.title_pattern)


def _diagnose_catalog(settings: Settings) -> Diagnosis:
    from tools.store.records.catalog_file import load
    from tools.store.records.schemas import count_oddities, find_odd_titles

    vocabulary = read_vocabulary(settings)
    records = load(settings.catalog_file, vocabulary, currency=settings.currency)
    try:
        opening.check_title_ids(settings, [title for title, _ in records])
    except SettingError as error:
        return Diagnosis(DOWN, str(error).removeprefix("MANGA_CATALOG_FILE: "), "correct the file, or MANGA_TITLE_PATTERN")
    odd = count_oddities(find_odd_titles(records, vocabulary))
    return Diagnosis(OK, "; ".join(filter(None, (f"{len(records):,} titles in this process", odd))))


def _store_checks(settings: Settings, stack: AsyncExitStack) -> Checks:
    if settings.store_url == EMBEDDED:
        check = once(_on_thread(_diagnose_store, settings))  # all four are filled from the same files
        profile = always(Diagnosis(OK, "in this process, until it ends"))
        names = ("titles", "stock", "releases", "orders")
        return {**dict.fromkeys(names, (EMBEDDED, check)), "profile": (EMBEDDED, profile)}
    from tools.store.backends.dynamodb.connection import Connection
    from tools.store.backends.dynamodb.diagnosis import diagnose
    from tools.store.backends.dynamodb.tables import TABLES, DynamoAddress

    address = DynamoAddress.parse(settings.store_url)
    connection = Connection(address)
    stack.push_async_callback(connection.aclose)
    return {
        table.name: (f"dynamodb://{address}", partial(diagnose, connection, table, settings.identifiers)) for table in TABLES
    }


def _diagnose_store(settings: Settings) -> Diagnosis:
    from tools.store.records.schemas import count_oddities, find_odd_rows
    from tools.store.records.store_files import read_orders, read_volumes

    titles = {title.title_id: title for title, _ in opening.load_records(settings)}
    volumes_file, orders_file, numbers, currency = opening.store_files(settings)
    volumes = read_volumes(volumes_file, titles, currency) if volumes_file else ()
    orders = read_orders(orders_file, numbers, currency) if orders_file else ()
    odd = count_oddities(find_odd_rows(titles, volumes, orders))
    return Diagnosis(OK, "; ".join(filter(None, ("in this process, from files", odd))))


def _pages_check(settings: Settings, stack: AsyncExitStack) -> tuple[str, Check]:
    if settings.pages_url == EMBEDDED:
        of_whom = "pictures of the demo" if settings.is_demo else "none: MANGA_PAGES_URL names yours"
        return EMBEDDED, always(Diagnosis(OK, of_whom))
    if folder := file_of(settings.pages_url):
        return str(folder), _on_thread(_diagnose_pages, folder)
    from tools.store.backends.aws_address import S3Address
    from tools.store.backends.pages.s3 import diagnose

    address = S3Address.parse(settings.pages_url)
    return str(address), partial(diagnose, address, stack)


def _diagnose_pages(folder: Path) -> Diagnosis:
    try:
        with os.scandir(folder) as entries:
            is_filled = any(each.is_dir(follow_symlinks=False) for each in entries)
    except OSError as error:
        return Diagnosis(DOWN, f"it cannot be read: {error.strerror}", "check MANGA_PAGES_URL, and the owner and mode")
    if not is_filled:
        return Diagnosis(DEGRADED, "it has no folder of a title", "put TITLE_ID/VOLUME/1.webp into it")
    return Diagnosis(OK, "a directory")


def _redis_check(settings: Settings, stack: AsyncExitStack) -> tuple[str, Check]:
    from session.redis import diagnosis

    async def diagnose_embedded(deadline: Deadline) -> Diagnosis:
        from session.redis.embedded import embedded_redis

        return await diagnosis.diagnose_embedded(await stack.enter_async_context(embedded_redis()), deadline)

    if settings.redis_url == EMBEDDED:
        return EMBEDDED, diagnose_embedded
    address = RedisAddress.parse(settings.redis_url)
    where = f"{urlsplit(settings.redis_url).scheme}://{address}"
    return where, once(partial(diagnosis.diagnose, address, opening.redis_credentials(address)))


def _diagnose_packages(report: ReloadReport) -> Diagnosis:
    if report.well:
        brought = (f"{each.package} {each.version}: {', '.join(each.loaded) or 'no tools'}" for each in report.packages)
        return Diagnosis(OK, "; ".join(brought))
    remedy = "mend or remove the package, then `python -m server tools reload`; until then a server keeps its version"
    return Diagnosis(DOWN, report.problem or "; ".join(map(str, report.refused_packages)), remedy)


async def _diagnose_flags(url: str, stack: AsyncExitStack, tools: Collection[str], deadline: Deadline) -> Diagnosis:
    try:
        document = parse(await open_flags_source(url, stack).read())
    except Unreadable as error:
        return Diagnosis.from_problem(_flags_problem(url, error))
    changed = [f"{name} {state}" for name, flag in document.flags.items() if (state := _state_of(flag)) != "on"]
    unknown = document.unknown(tools)  # flags of another version's tools: reported, but no problem
    missing = [f"no tool of this version: {', '.join(unknown)}"] if unknown else []
    return Diagnosis(OK, "; ".join([", ".join(changed) or "every tool that is named is on for everyone", *missing]))


def _state_of(flag: Flag) -> str:
    if not flag:
        return "off"
    if flag[0].conditions or len(flag) > 1 or flag[0].name != "on":
        return f"in {len(flag)} segments"
    return "on" if flag[0].rollout >= 100 else f"{flag[0].rollout:g} %"


def _flags_problem(url: str, error: Unreadable) -> Problem:
    setting = "MANGA_FLAGS_URL"
    if url.startswith("file:"):
        return Problem(str(error), f"check {setting}, and the file's owner and mode")
    if url.startswith("dynamodb:") and error.__cause__ is not None:
        from tools.store.backends.aws_client import aws_problem, code_of

        if code_of(error) != "ResourceNotFoundException":
            return aws_problem(error, setting, "dynamodb:GetItem on the table of the flags")
    return network_problem(error, setting) or Problem(str(error), f"check {setting}; {KEEPS}")


def diagnose_workers(workers: int) -> Diagnosis:
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if processors >= workers:
        return Diagnosis(OK, f"on {processors} processors")
    remedy = f"set MANGA_WORKERS to {processors} at most, or give the task more"
    return Diagnosis(DEGRADED, f"they share {processors} processors, and wait for one another", remedy)


def _diagnose_policies(settings: Settings) -> Diagnosis:
    try:
        found = read_policies(settings)
    except SettingError as error:
        return Diagnosis(DOWN, str(error).removeprefix("MANGA_POLICIES_FILE: "), "correct the file, or MANGA_POLICIES_FILE")
    return Diagnosis(OK, describe_policies(settings, found))


def _diagnose_audit(file: Path) -> Diagnosis:
    try:
        if file.exists():
            os.close(os.open(file, os.O_WRONLY | os.O_APPEND))
        else:
            _try_to_write(file.parent)
    except OSError as error:
        return Diagnosis(DOWN, f"it cannot be written: {error.strerror}", "check MANGA_AUDIT_LOG, and the owner and mode")
    return _diagnose_space(file.parent, "make room, or no order access can be written down")


def _diagnose_data_folder(folder: Path) -> Diagnosis:
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    try:
        _try_to_write(nearest)
    except OSError as error:
        what = f"nothing can be kept in it ({error.strerror}): vectors are computed at every start"
        return Diagnosis(DEGRADED, what, "set XDG_CACHE_HOME to a folder that this user may write to")
    return _diagnose_space(nearest, "make room, or set XDG_CACHE_HOME to a folder elsewhere")


def _try_to_write(folder: Path) -> None:
    with TemporaryFile(dir=folder) as file:
        file.write(b"\0")


def _diagnose_space(folder: Path, remedy: str) -> Diagnosis:
    free = shutil.disk_usage(folder).free
    detail = f"{free / 2**30:,.1f} GB free"
    return Diagnosis(OK, detail) if free >= LEAST_FREE_BYTES else Diagnosis(DEGRADED, detail, remedy)


async def _open_embedder(settings: Settings, stack: AsyncExitStack) -> tuple[Embedder | None, Check]:
    try:
        embedder = await opening.open_embedder(settings, stack)
    except SettingError as error:
        return None, always(_describe_setting(error))
    if embedder is None:
        return None, always(Diagnosis(OK, "none: search is by words alone"))
    well = Diagnosis(OK, f"{embedder.name}, {embedder.dimensions} dimensions")
    slow = "wait if the machine is busy; else look at its quotas"
    model = None if settings.embedder == "local" else "MANGA_EMBEDDER"
    return embedder, _model_check(partial(embedder.embed, ["漫画"]), well, slow, model)


async def _classifier_check(settings: Settings, stack: AsyncExitStack) -> Check:
    try:
        classifier = await opening.open_classifier(settings, stack)
    except SettingError as error:
        return always(_describe_setting(error))
    assert classifier is not None
    text, terms = "A boy sails the sea to become king of the pirates.", CatalogTerms({"Adventure": 1, "Romance": 1}, {})
    well, slow = Diagnosis(OK, f"{settings.classifier} labels texts"), "look at its quotas, or take a faster model"
    return _model_check(partial(classifier.classify, text, terms), well, slow, "MANGA_CLASSIFIER")


def _describe_setting(error: SettingError) -> Diagnosis:
    setting, _, remedy = str(error).partition(": ")
    return Diagnosis(DOWN, f"{setting} cannot be used", remedy)


def _model_check(ask: Callable[[Deadline], Awaitable[Any]], well: Diagnosis, slow: str, setting: str | None) -> Check:
    """Returns a check that calls `ask` and reports `well` if it succeeds. `slow` is the remedy for a timeout. `setting` is
    the setting that names the model on Bedrock; None stands for the embedder in this process."""

    async def check(deadline: Deadline) -> Diagnosis:
        try:
            await ask(deadline.earlier_by(0.1))
        except TimedOut:
            return Diagnosis(DOWN, "it does not answer", slow)
        except (BackendFailure, InternalFailure) as failure:
            if setting is None or isinstance(failure, InternalFailure):
                return Diagnosis(DOWN, failure.message, "install the locked requirements again, or set MANGA_EMBEDDER=none")
            from tools.store.backends.aws_client import bedrock_problem

            return Diagnosis.from_problem(bedrock_problem(failure, setting))
        return well

    return check
