"""Which implementation stands behind which port, chosen by URL. A driver is imported only when it is chosen."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from server.config.parsing import SettingError
from server.config.settings import DEMO, Settings
from session.redis.address import RedisAddress
from session.redis.keyvalue import KeyValue
from session.resilience.deadline import Deadline
from tools.store.backends.watched_embedder import WatchedEmbedder
from tools.store.failures import Failure
from tools.store.ports import CatalogPort, Embedder, OrdersPort, ProfilePort, StockPort, TitlesPort

if TYPE_CHECKING:
    from session.redis.iam import ElastiCacheIam
    from tools.store.backends.embedded.catalog import EmbeddedCatalog

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 1.0
WARM_UP_SECONDS = 4.0
GREETING_SECONDS = 0.5
"""What a first client gets before the encoder is loaded."""
EMBEDDED = "embedded:"
Progress = Callable[[int, int, str], None]
Prepared = Callable[[], Awaitable[object]]


async def _nothing_to_prepare() -> None:
    """What is elsewhere is as ready as it is."""


StorePorts = tuple[TitlesPort, StockPort, OrdersPort, ProfilePort]


@dataclass(frozen=True, slots=True)
class Ports:
    """The backends as they come, before they are guarded. `prepared` waits for what is made ready behind the start."""

    catalog: CatalogPort
    titles: TitlesPort
    stock: StockPort
    orders: OrdersPort
    profiles: ProfilePort
    embedder: WatchedEmbedder | None = None
    prepared: Prepared = _nothing_to_prepare


async def open_redis(settings: Settings, stack: AsyncExitStack) -> KeyValue:
    """Connected if Redis answers within a second; it is dialled on in the background if it does not."""
    if settings.redis_url == EMBEDDED:
        from session.redis.embedded import embedded_redis

        return await stack.enter_async_context(embedded_redis())
    address = RedisAddress.parse(settings.redis_url)
    signed_in = redis_credentials(address)
    credentials = signed_in.get_credentials if signed_in else None
    if address.cluster:
        from session.redis.cluster import ClusteredRedis

        cluster = ClusteredRedis(address, credentials)
        stack.push_async_callback(cluster.aclose)
        await cluster.connect(Deadline.after(CONNECT_SECONDS))
        return cluster
    from session.redis.multiplexed import MultiplexedRedis

    redis = MultiplexedRedis(address, credentials)
    stack.push_async_callback(redis.aclose)
    await redis.connect(Deadline.after(CONNECT_SECONDS))
    return redis


def redis_credentials(address: RedisAddress) -> ElastiCacheIam | None:
    """Those of IAM, where the address asks for them."""
    if address.iam is None or address.username is None:
        return None
    from session.redis.iam import ElastiCacheIam

    serverless = ".serverless." in address.host  # as AWS names the endpoints of Serverless caches, and no others
    return ElastiCacheIam(address.username, address.iam.cache, address.iam.region, serverless=serverless)


async def open_ports(settings: Settings, stack: AsyncExitStack, progress: Progress | None) -> Ports:
    """The catalogue and the store. Those in this process are loaded; those elsewhere need not answer yet."""
    embedder = await open_embedder(settings, stack)
    watched = WatchedEmbedder(embedder) if embedder is not None else None
    catalog = await _open_catalog(settings, stack, watched, progress)
    prepared = getattr(catalog, "wait_for_vectors", _nothing_to_prepare)
    if settings.store_url == EMBEDDED:
        return Ports(catalog, *await _open_embedded_store(settings, stack, catalog), watched, prepared)
    return Ports(catalog, *await _open_dynamodb(settings, stack), watched, prepared)


async def open_embedder(settings: Settings, stack: AsyncExitStack) -> Embedder | None:
    """None where search is by words alone. Raises `SettingError` where AWS's own settings cannot be used."""
    if settings.embedder == "none":
        return None
    if settings.embedder == "local":
        from tools.store.backends.embedded.embedder import LocalEmbedder

        return await stack.enter_async_context(LocalEmbedder())
    from botocore.exceptions import InvalidRegionError, NoRegionError, ProfileNotFound

    from tools.store.backends.bedrock.embedder import BedrockEmbedder

    try:
        return await stack.enter_async_context(BedrockEmbedder.open(settings.embedder.removeprefix("bedrock:")))
    except (NoRegionError, InvalidRegionError, ProfileNotFound):
        raise SettingError("MANGA_EMBEDDER: Bedrock needs AWS_DEFAULT_REGION, or an AWS_PROFILE that has one") from None


async def _open_catalog(
    settings: Settings, stack: AsyncExitStack, embedder: Embedder | None, progress: Progress | None
) -> CatalogPort:
    if settings.catalog_url == EMBEDDED:
        return await _open_embedded_catalog(settings, stack, embedder, progress)
    from tools.store.backends.opensearch.address import OpenSearchAddress
    from tools.store.backends.opensearch.catalog import OpenSearchCatalog

    if embedder is not None:
        await _warm_up(embedder, WARM_UP_SECONDS if settings.embedder == "local" else CONNECT_SECONDS)
    try:
        opening = OpenSearchCatalog.open(OpenSearchAddress.parse(settings.catalog_url), embedder)
        return await stack.enter_async_context(opening)
    except (ValueError, OSError) as error:  # a certificate's file, or AWS credentials that are not there
        raise SettingError(f"MANGA_CATALOG_URL: {error}") from None


async def _warm_up(embedder: Embedder, seconds: float) -> None:
    """The first text takes seconds (the encoder is loaded, or a connection made), which no customer's search has."""
    with suppress(Failure):  # searches go by words alone then, and say so
        await embedder.embed(["漫画"], Deadline.after(seconds))


async def _open_embedded_catalog(
    settings: Settings, stack: AsyncExitStack, embedder: Embedder | None, progress: Progress | None
) -> EmbeddedCatalog:
    from tools.store.backends.embedded.catalog import EmbeddedCatalog
    from tools.store.records.catalog_file import CatalogFileError

    started = time.monotonic()
    cache_dir = settings.data_dir or default_data_dir()
    opening = EmbeddedCatalog.open(
        settings.catalog_file, embedder, cache_dir=cache_dir, progress=progress, head_start=GREETING_SECONDS
    )
    try:
        catalog = await stack.enter_async_context(opening)
    except CatalogFileError as error:
        raise SettingError(f"MANGA_CATALOG_FILE: {error}") from None
    logger.info("%d titles ready in %.1f s", len(catalog), time.monotonic() - started)
    return catalog


async def _open_embedded_store(settings: Settings, stack: AsyncExitStack, catalog: CatalogPort) -> StorePorts:
    """Filled from the catalogue file, whoever searches it: with OpenSearch the file still says what is sold."""
    from tools.store.backends.embedded.profile import EmbeddedProfiles
    from tools.store.backends.embedded.stock_and_orders import EmbeddedStore
    from tools.store.backends.embedded.titles import EmbeddedTitles
    from tools.store.records.catalog_file import CatalogFileError, Record, load

    known: Sequence[Record] | None = getattr(catalog, "records", None)
    try:
        records = await asyncio.to_thread(load, settings.catalog_file) if known is None else known
    except CatalogFileError as error:
        raise SettingError(f"MANGA_CATALOG_FILE: {error}") from None
    offers = [(title.title_id, sold) for title, sold in records]
    store = await stack.enter_async_context(EmbeddedStore.open(offers, *store_files(settings)))
    return EmbeddedTitles(title for title, _ in records), store, store, EmbeddedProfiles()


def store_files(settings: Settings) -> tuple[Path | None, Path]:
    """The volumes and the orders that the embedded store is filled with: volumes are the demo catalogue's alone."""
    demo = settings.catalog_file.resolve() == (DEMO / "catalog.jsonl").resolve()
    return (DEMO / "volumes.jsonl" if demo else None, DEMO / "orders.jsonl")


async def _open_dynamodb(settings: Settings, stack: AsyncExitStack) -> StorePorts:
    from tools.store.backends.dynamodb.address import DynamoAddress
    from tools.store.backends.dynamodb.store import DynamoStore

    store = await stack.enter_async_context(DynamoStore.open(DynamoAddress.parse(settings.store_url)))
    # The first call makes the connections; a customer should not wait for that. It never raises.
    await store.health(Deadline.after(CONNECT_SECONDS))
    return store.titles, store.stock, store.orders, store.profiles


def default_data_dir() -> Path:
    """The user's cache folder, by the XDG Base Directory Specification."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "manga-tools"
