"""How each dependency is asked, directly: a breaker or a pool would only hide what is the matter."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

from server.backends import EMBEDDED
from server.backends.opening import default_data_dir
from server.backends.redis import redis_credentials
from server.commands.doctor import local
from server.commands.doctor.models import classifier_check, opened_embedder
from server.commands.doctor.relay import relay_check
from server.commands.tools import installed_tools
from server.config.settings import Settings
from server.config.urls import file_of, without_query
from server.flags.document import Document, DocumentError, Flag, parse
from server.flags.follower import open_source
from server.flags.sources import Unreadable
from server.packages.loading import GROUP
from server.packages.reload_socket import PackageReport, ReloadReport
from session.redis.address import RedisAddress
from session.resilience.diagnosis import DEGRADED, OK, Check, Diagnosis, Problem, always, network_problem, once
from tools.registry import Registry
from tools.store.ports import Embedder

IMPORT_SECONDS = 2.0
"""Less than a server gives them: others are still to be examined."""
MEND = "mend or remove the package, then `python -m server tools reload`; until then a server keeps the version that it has"


FLAGS_SETTING = "MANGA_FLAGS_URL"
KEEPS = "a running server keeps to what it read last"


async def checks_of(settings: Settings, stack: AsyncExitStack) -> dict[str, tuple[str, Check]]:
    """Tells where each is and how it is asked, in the order of the table."""
    embedder, embedding = await opened_embedder(settings, stack)
    registry, report = await installed_tools(settings, IMPORT_SECONDS)
    at_redis, redis = _redis(settings, stack)
    return {
        "catalog": _catalog(settings, embedder, stack),
        **_standby(settings, embedder, stack),
        **_store(settings, stack),
        "pages": _pages(settings, stack),
        "redis": (at_redis, redis),
        **relay_check(settings, redis),
        **_issuer(settings),
        **_packages(report),
        **_flags(settings, stack, registry),
        **await _classifier(settings, stack),
        **workers_check(settings),
        **_files(settings),
        "embedder": (settings.embedder, embedding),
    }


def _catalog(settings: Settings, embedder: Embedder | None, stack: AsyncExitStack) -> tuple[str, Check]:
    if settings.catalog_url == EMBEDDED:
        return f"{EMBEDDED} {settings.catalog_file.name}", local.catalog_check(settings)
    from tools.store.backends.opensearch.address import OpenSearchAddress
    from tools.store.backends.opensearch.diagnosis import diagnose

    address = OpenSearchAddress.parse(settings.catalog_url)
    return str(address), lambda deadline: diagnose(address, embedder, deadline)


def _standby(settings: Settings, embedder: Embedder | None, stack: AsyncExitStack) -> dict[str, tuple[str, Check]]:
    url = settings.standby_url
    if url is None:
        return {}
    from server.standby.diagnosis import diagnose

    return {"standby": (without_query(url), lambda deadline: diagnose(settings, embedder, stack, deadline))}


def _store(settings: Settings, stack: AsyncExitStack) -> dict[str, tuple[str, Check]]:
    if settings.store_url == EMBEDDED:
        check = local.store_check(settings)
        profile = always(Diagnosis(OK, "in this process, until it ends"))
        return {
            **dict.fromkeys(("titles", "stock", "releases", "orders"), (EMBEDDED, check)),
            "profile": (EMBEDDED, profile),
        }
    from tools.store.backends.dynamodb.connection import Connection
    from tools.store.backends.dynamodb.diagnosis import diagnose
    from tools.store.backends.dynamodb.tables import TABLES, DynamoAddress, Table

    address = DynamoAddress.parse(settings.store_url)
    connection = Connection(address)
    stack.push_async_callback(connection.aclose)
    where = f"dynamodb://{address}"

    def of(table: Table) -> Check:
        return lambda deadline: diagnose(connection, table, deadline)

    return {table.name: (where, of(table)) for table in TABLES}


def _pages(settings: Settings, stack: AsyncExitStack) -> tuple[str, Check]:
    if settings.pages_url == EMBEDDED:
        return EMBEDDED, always(Diagnosis(OK, "pictures of the demo"))
    if folder := file_of(settings.pages_url):
        return str(folder), local.on_a_thread(local.pages, folder)
    from tools.store.backends.aws_address import S3Address
    from tools.store.backends.pages.s3 import diagnose

    address = S3Address.parse(settings.pages_url)
    return str(address), lambda deadline: diagnose(address, stack, deadline)


def _redis(settings: Settings, stack: AsyncExitStack) -> tuple[str, Check]:
    from session.redis import diagnosis

    if settings.redis_url == EMBEDDED:
        return EMBEDDED, local.redis_check(stack)
    address = RedisAddress.parse(settings.redis_url)
    signed_in = redis_credentials(address)
    credentials = signed_in.get_credentials if signed_in else None
    where = f"{urlsplit(settings.redis_url).scheme}://{address}"
    return where, once(lambda deadline: diagnosis.diagnose(address, credentials, deadline))


def _issuer(settings: Settings) -> dict[str, tuple[str, Check]]:
    url = settings.jwt_jwks_url
    if url is None:
        return {}
    from server.identity.jwt.diagnosis import diagnose, where

    return {"issuer": (where(url), lambda deadline: diagnose(url, deadline))}


def _packages(report: ReloadReport) -> dict[str, tuple[str, Check]]:
    if not report.packages and report.problem is None:
        return {}
    return {"packages": (GROUP, always(_brought_by(report)))}


def _flags(settings: Settings, stack: AsyncExitStack, registry: Registry) -> dict[str, tuple[str, Check]]:
    url = settings.flags_url
    if url is None:
        return {}
    return {"flags": (without_query(url), lambda deadline: _of_flags(url, stack, [tool.flag for tool in registry]))}


async def _classifier(settings: Settings, stack: AsyncExitStack) -> dict[str, tuple[str, Check]]:
    if settings.classifier == "local":
        return {}
    return {"classifier": (settings.classifier, await classifier_check(settings, stack))}


def _files(settings: Settings) -> dict[str, tuple[str, Check]]:
    """Names the policies' and those that are set; the data folder too where the catalogue is in this process and keeps its
    vectors there."""
    policies = settings.policies_file
    found: dict[str, tuple[str, Check]] = {"policies": (policies.name, local.on_a_thread(local.policies, policies))}
    if path := settings.audit_log:
        found["audit"] = (str(path), local.on_a_thread(local.audit, path))
    if settings.data_dir or settings.catalog_url == EMBEDDED:
        folder = settings.data_dir or default_data_dir()
        found["data"] = (str(folder), local.on_a_thread(local.data, folder))
    return found


def workers_check(settings: Settings) -> dict[str, tuple[str, Check]]:
    """Says nothing of a process by itself."""
    if settings.workers == 1:
        return {}
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    found = Diagnosis(OK, f"on {processors} processors")
    if processors < settings.workers:
        remedy = f"set MANGA_WORKERS to {processors} at most, or give the task more"
        found = Diagnosis(DEGRADED, f"they share {processors} processors, and wait for one another", remedy)
    return {"workers": (str(settings.workers), always(found))}


def _brought_by(report: ReloadReport) -> Diagnosis:
    if not report.well:
        told = [report.problem] if report.problem else [str(each) for each in report.packages if each.refused]
        return Diagnosis.of(Problem("; ".join(told), MEND))
    return Diagnosis(OK, "; ".join(map(_brought, report.packages)))


def _brought(package: PackageReport) -> str:
    return f"{package.package} {package.version}: {', '.join(package.loaded) or 'no tools'}"


async def _of_flags(url: str, stack: AsyncExitStack, tools: Collection[str]) -> Diagnosis:
    source = await open_source(url, stack)
    try:
        return Diagnosis(OK, _switched(parse(await source.read() or b""), tools))
    except DocumentError as error:
        return Diagnosis.of(Problem(str(error), f"correct it; {KEEPS}"))
    except Unreadable as error:
        return Diagnosis.of(_flags_problem(url, error))


def _switched(document: Document, tools: Collection[str]) -> str:
    """A flag of another version's tool is no more than worth knowing."""
    changed = [f"{name} {_state_of(flag)}" for name, flag in document.flags.items() if _state_of(flag) != "on"]
    unknown = document.unknown(tools)
    missing = [f"no tool of this version: {', '.join(unknown)}"] if unknown else []
    return "; ".join([", ".join(changed) or "every tool that is named is on for everyone", *missing])


def _state_of(flag: Flag) -> str:
    if not flag:
        return "off"
    if flag[0].conditions or len(flag) > 1 or flag[0].name != "on":
        return f"in {len(flag)} segments"
    return "on" if flag[0].rollout >= 100 else f"{flag[0].rollout:g} %"


def _flags_problem(url: str, error: Unreadable) -> Problem:
    if url.startswith("file:"):
        return Problem(str(error), f"check {FLAGS_SETTING}, and the file's owner and mode")
    if url.startswith("dynamodb:") and error.__cause__ is not None:
        from tools.store.backends.aws_failures import aws_problem, code_of

        if code_of(error) != "ResourceNotFoundException":
            return aws_problem(error, FLAGS_SETTING, "dynamodb:GetItem on the table of the flags")
    return network_problem(error, FLAGS_SETTING) or Problem(str(error), f"check {FLAGS_SETTING}; {KEEPS}")
