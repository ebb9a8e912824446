"""How each dependency is asked, directly: a breaker or a pool would only hide what is the matter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

from server.backends import EMBEDDED
from server.backends.catalog import default_data_dir
from server.backends.redis import redis_credentials
from server.commands.doctor import embedded, packages
from server.commands.doctor.check import Check, always, once
from server.commands.doctor.embedder import opened_embedder
from server.commands.doctor.relay import relay_check
from server.commands.doctor.workers import workers_check
from server.commands.installed_tools import installed_tools
from server.config.flags_url import shown
from server.config.settings import Settings
from server.config.urls import file_of
from server.packages.loading import GROUP
from server.packages.reload_socket import Report
from session.redis.address import RedisAddress
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import OK, Diagnosis
from tools.registry import Registry
from tools.store.ports import Embedder


async def checks_of(settings: Settings, stack: AsyncExitStack) -> dict[str, tuple[str, Check]]:
    """Tells where each is and how it is asked, in the order of the table."""
    embedder, embedding = await opened_embedder(settings, stack)
    registry, report = await installed_tools(settings, packages.IMPORT_SECONDS)
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
        return f"{EMBEDDED} {settings.catalog_file.name}", embedded.catalog_check(settings)
    from tools.store.backends.opensearch.address import OpenSearchAddress
    from tools.store.backends.opensearch.diagnosis import diagnose

    address = OpenSearchAddress.parse(settings.catalog_url)
    return str(address), lambda deadline: diagnose(address, embedder, deadline)


def _standby(settings: Settings, embedder: Embedder | None, stack: AsyncExitStack) -> dict[str, tuple[str, Check]]:
    url = settings.standby_url
    if url is None:
        return {}
    from server.standby.diagnosis import diagnose

    return {"standby": (shown(url), lambda deadline: diagnose(settings, embedder, stack, deadline))}


def _store(settings: Settings, stack: AsyncExitStack) -> dict[str, tuple[str, Check]]:
    if settings.store_url == EMBEDDED:
        check = embedded.store_check(settings)
        profile = always(Diagnosis(OK, "in this process, until it ends"))
        return {
            **dict.fromkeys(("titles", "stock", "releases", "orders"), (EMBEDDED, check)),
            "profile": (EMBEDDED, profile),
        }
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


def _pages(settings: Settings, stack: AsyncExitStack) -> tuple[str, Check]:
    if settings.pages_url == EMBEDDED:
        return EMBEDDED, always(Diagnosis(OK, "pictures of the demo"))
    if folder := file_of(settings.pages_url):
        from server.commands.doctor import files

        return str(folder), _on_a_thread(files.pages, folder)
    from tools.store.backends.pages.s3.address import S3Address
    from tools.store.backends.pages.s3.diagnosis import diagnose

    address = S3Address.parse(settings.pages_url)
    return str(address), lambda deadline: diagnose(address, stack, deadline)


def _redis(settings: Settings, stack: AsyncExitStack) -> tuple[str, Check]:
    from session.redis import diagnosis

    if settings.redis_url == EMBEDDED:
        return EMBEDDED, embedded.redis_check(stack)
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


def _packages(report: Report) -> dict[str, tuple[str, Check]]:
    if not report.packages and report.problem is None:
        return {}
    return {"packages": (GROUP, always(packages.diagnosed(report)))}


def _flags(settings: Settings, stack: AsyncExitStack, registry: Registry) -> dict[str, tuple[str, Check]]:
    url = settings.flags_url
    if url is None:
        return {}
    from server.commands.doctor.flags import diagnose

    return {"flags": (shown(url), lambda deadline: diagnose(url, stack, [tool.flag for tool in registry]))}


async def _classifier(settings: Settings, stack: AsyncExitStack) -> dict[str, tuple[str, Check]]:
    if settings.classifier == "local":
        return {}
    from server.commands.doctor.classifier import classifier_check

    return {"classifier": (settings.classifier, await classifier_check(settings, stack))}


def _files(settings: Settings) -> dict[str, tuple[str, Check]]:
    """Names the policies' and those that are set; the data folder too where the catalogue is in this process and keeps its
    vectors there."""
    from server.commands.doctor import files

    policies = settings.policies_file
    found: dict[str, tuple[str, Check]] = {"policies": (policies.name, _on_a_thread(files.policies, policies))}
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
