from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from server.config.parsing import SettingError, file_of
from server.config.settings import DEMO, Settings, read_vocabulary
from session.redis.address import RedisAddress
from session.redis.subscriber import Redis
from session.resilience.deadline import Deadline
from tools.store.backends.embedding import WatchedEmbedder
from tools.store.currency import Currency
from tools.store.failures import Failure
from tools.store.identifiers import IdPattern
from tools.store.models import Title
from tools.store.ports import (
    CatalogPort,
    Classifier,
    Embedder,
    OrdersPort,
    PagesPort,
    PreferencesPort,
    ProfilePort,
    ReleasesPort,
    StockPort,
    TitlesPort,
)
from tools.store.store import releases_of

CONNECT_SECONDS = 1.0
EMBEDDED = "embedded:"
Progress = Callable[[int, int, str], None]
Prepared = Callable[[], Awaitable[object]]
StorePorts = tuple[TitlesPort, StockPort, ReleasesPort, OrdersPort, ProfilePort, PreferencesPort]
logger = logging.getLogger(__name__)


async def nothing_to_prepare() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Ports:
    """All ports of the store. `embedder` and `classifier` are None if not configured. `prepared` waits until background
    loading, such as that of vectors, has ended."""

    titles: TitlesPort
    stock: StockPort
    releases: ReleasesPort
    orders: OrdersPort
    profiles: ProfilePort
    preferences: PreferencesPort
    catalog: CatalogPort
    pages: PagesPort
    embedder: WatchedEmbedder | None = None
    prepared: Prepared = nothing_to_prepare
    classifier: Classifier | None = None


if TYPE_CHECKING:
    from session.redis.multiplexed import Credentials
    from tools.store.backends.embedded.catalog import EmbeddedCatalog, Loaded
    from tools.store.backends.embedded.stock_and_orders import EmbeddedReleases, EmbeddedTitles
    from tools.store.backends.embedding import Encoder
    from tools.store.records.catalog_file import Record


@dataclass(frozen=True, slots=True)
class SharedStore:
    """The workers' embedded store: SQLite databases `file` of stock and orders, `people` of profiles and preferences."""

    titles: EmbeddedTitles
    releases: EmbeddedReleases
    file: Path
    people: Path


@dataclass(frozen=True, slots=True)
class Shared:
    """Data that the supervisor has loaded for all workers; every field is None in a single process."""

    catalog: Loaded | None = None
    encoder: Encoder | None = None
    store: SharedStore | None = None


async def open_classifier(settings: Settings, stack: AsyncExitStack) -> Classifier | None:
    """Opens Bedrock's classifier; returns None if texts are classified locally, by similar titles. Raises `SettingError` for
    an unusable AWS region or profile."""
    if settings.classifier == "local":
        return None
    from tools.store.backends.bedrock import BedrockClassifier

    with _bedrock_settings("MANGA_CLASSIFIER"):
        return await stack.enter_async_context(BedrockClassifier.open(settings.classifier.removeprefix("bedrock:")))


async def open_embedder(settings: Settings, stack: AsyncExitStack, shared: Shared | None = None) -> Embedder | None:
    """Opens the embedder, or returns None if search is by words alone. Raises `SettingError` as `open_classifier` does."""
    if settings.embedder == "none":
        return None
    if settings.embedder == "local":
        from tools.store.backends.embedding import LocalEmbedder

        return await stack.enter_async_context(LocalEmbedder(shared.encoder if shared else None))
    from tools.store.backends.bedrock import BedrockEmbedder

    with _bedrock_settings("MANGA_EMBEDDER"):
        return await stack.enter_async_context(BedrockEmbedder.open(settings.embedder.removeprefix("bedrock:")))


@contextmanager
def _bedrock_settings(name: str) -> Iterator[None]:
    from botocore.exceptions import InvalidRegionError, NoRegionError, ProfileNotFound

    try:
        yield
    except (NoRegionError, InvalidRegionError, ProfileNotFound):
        raise SettingError(f"{name}: Bedrock needs AWS_DEFAULT_REGION, or an AWS_PROFILE that has one") from None


async def _open_pages(settings: Settings, stack: AsyncExitStack) -> PagesPort:
    if settings.pages_url == EMBEDDED:
        from tools.store.backends.pages.directory import DemoPages

        return await stack.enter_async_context(DemoPages.open()) if settings.is_demo else DemoPages()
    if folder := file_of(settings.pages_url):
        from tools.store.backends.pages.directory import DirectoryPages

        return DirectoryPages(folder)
    from tools.store.backends.aws_address import S3Address
    from tools.store.backends.pages.s3 import S3Pages

    return await stack.enter_async_context(S3Pages.open(S3Address.parse(settings.pages_url)))


async def _open_opensearch(settings: Settings, stack: AsyncExitStack, embedder: Embedder | None) -> CatalogPort:
    from tools.store.backends.opensearch.address import OpenSearchAddress
    from tools.store.backends.opensearch.catalog import OpenSearchCatalog

    if embedder is not None:
        # The first vector loads the encoder or opens a connection, for which no customer's search has time.
        with suppress(Failure):  # searches then match words only, and say so
            await embedder.embed(["漫画"], Deadline.after(4.0 if settings.embedder == "local" else CONNECT_SECONDS))
    try:
        opening = OpenSearchCatalog.open(OpenSearchAddress.parse(settings.catalog_url), embedder, read_vocabulary(settings))
        return await stack.enter_async_context(opening)
    except (ValueError, OSError) as error:  # an unreadable certificate file, or missing AWS credentials
        raise SettingError(f"MANGA_CATALOG_URL: {error}") from None


async def _open_embedded_catalog(
    settings: Settings, stack: AsyncExitStack, embedder: Embedder | None, progress: Progress | None, shared: Shared
) -> EmbeddedCatalog:
    from tools.store.backends.embedded.catalog import EmbeddedCatalog

    opening = EmbeddedCatalog.open(
        settings.catalog_file,
        embedder,
        cache_dir=settings.data_dir or default_data_dir(),
        progress=progress,
        head_start=0.5 if shared.catalog is None else 0.0,  # s, to serve the first client before the encoder loads
        loaded=shared.catalog or await asyncio.to_thread(_load_catalog, settings, progress),
    )
    return await stack.enter_async_context(opening)


def _load_catalog(settings: Settings, progress: Progress | None) -> Loaded:
    from tools.store.backends.embedded.catalog import load_catalog, plan_vectors
    from tools.store.backends.embedded.computed import ComputedStore

    started, computed = time.monotonic(), ComputedStore(settings.data_dir or default_data_dir())
    with _catalog_file_setting():
        loaded = load_catalog(settings.catalog_file, computed, progress, read_vocabulary(settings), settings.currency)
    logger.info("%d titles ready in %.1f s", len(loaded.columns), time.monotonic() - started)
    warn_of_oddities(settings, list(zip(loaded.columns.titles, loaded.columns.offers, strict=True)))
    return replace(loaded, plan=plan_vectors(loaded.columns.titles)) if settings.embedder != "none" else loaded


@contextmanager
def _catalog_file_setting() -> Iterator[None]:
    from tools.store.records.catalog_file import CatalogFileError

    try:
        yield
    except CatalogFileError as error:
        raise SettingError(f"MANGA_CATALOG_FILE: {error}") from None


def warn_of_oddities(settings: Settings, records: Sequence[Record]) -> None:
    """Logs how many values of the catalogue are probably mistakes, and the first of them; nothing if there are none."""
    from tools.store.records.schemas import count_oddities, find_odd_titles

    if odd := count_oddities(find_odd_titles(records, read_vocabulary(settings))):
        logger.warning("%s has %s (make seed ARGS=--dry-run lists all)", settings.catalog_file.name, odd)


def default_data_dir() -> Path:
    """Returns this program's folder in the user's cache, as the XDG Base Directory Specification says."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "manga-tools"


async def _open_store(settings: Settings, stack: AsyncExitStack, catalog: CatalogPort, shared: Shared) -> StorePorts:
    if settings.store_url != EMBEDDED:
        return await _open_dynamodb(settings, stack)
    if (own := shared.store) is None:
        return await _open_embedded_store(settings, stack, catalog)
    from tools.store.backends.embedded.customers import EmbeddedCustomers
    from tools.store.backends.embedded.stock_and_orders import EmbeddedStore

    store = stack.enter_context(closing(EmbeddedStore.of_file(own.file)))
    customers = stack.enter_context(closing(EmbeddedCustomers(own.people)))
    return own.titles, store, own.releases, store, customers, customers


async def _open_embedded_store(settings: Settings, stack: AsyncExitStack, catalog: CatalogPort) -> StorePorts:
    from tools.store.backends.embedded.customers import EmbeddedCustomers
    from tools.store.backends.embedded.stock_and_orders import EmbeddedReleases, EmbeddedStore, EmbeddedTitles
    from tools.store.records.store_files import StoreFileError

    known: Sequence[Record] | None = getattr(catalog, "records", None)
    with _catalog_file_setting():
        records = await asyncio.to_thread(load_records, settings) if known is None else known
    offers = [(title.title_id, sold) for title, sold in records]
    titles = [title for title, _ in records]
    check_title_ids(settings, titles)
    try:
        store = await stack.enter_async_context(EmbeddedStore.open(offers, *store_files(settings)))
    except StoreFileError as error:
        raise SettingError(f"MANGA_ORDERS_FILE, MANGA_VOLUMES_FILE: {error}") from None
    releases = EmbeddedReleases(releases_of(titles, store.dated_volumes()))
    customers = stack.enter_context(closing(EmbeddedCustomers()))
    return EmbeddedTitles(titles), store, releases, store, customers, customers


def check_title_ids(settings: Settings, titles: Iterable[Title]) -> None:
    """Raises `SettingError` for the first title whose id does not match MANGA_TITLE_PATTERN."""
    if odd := next((each.title_id for each in titles if not settings.title_pattern.matches(each.title_id)), None):
        raise SettingError(f"MANGA_CATALOG_FILE: title_id {settings.title_pattern.mismatch(odd, 'MANGA_TITLE_PATTERN')}")


def load_records(settings: Settings) -> Sequence[Record]:
    from tools.store.records.catalog_file import load

    return load(settings.catalog_file, read_vocabulary(settings), currency=settings.currency)


def store_files(settings: Settings) -> tuple[Path | None, Path | None, IdPattern, Currency]:
    """Returns the volumes file, the orders file, the pattern of order numbers, and the currency of the embedded store. A
    file that is not configured is the demo's if the demo catalogue is served, else None."""
    volumes, orders = (DEMO / "volumes.jsonl", DEMO / "orders.jsonl") if settings.is_demo else (None, None)
    return settings.volumes_file or volumes, settings.orders_file or orders, settings.order_pattern, settings.currency


async def _open_dynamodb(settings: Settings, stack: AsyncExitStack) -> StorePorts:
    from tools.store.backends.dynamodb.store import DynamoStore
    from tools.store.backends.dynamodb.tables import DynamoAddress

    opening = DynamoStore.open(DynamoAddress.parse(settings.store_url), currency=settings.currency)
    store = await stack.enter_async_context(opening)
    # Opens the connections, so that no customer waits for that. Never raises.
    await store.stock.health(Deadline.after(CONNECT_SECONDS))
    return store.titles, store.stock, store.releases, store.orders, store.profiles, store.profiles


OpenPorts = Callable[[Settings, AsyncExitStack], Awaitable[Ports]]


async def open_ports(
    settings: Settings, stack: AsyncExitStack, progress: Progress | None = None, shared: Shared | None = None
) -> Ports:
    """Opens all backends until `stack` closes; remote ones may be unreachable. Loads embedded ones unless `shared` has them,
    and calls `progress` with (done, total, label) meanwhile. Raises `SettingError` for an unusable setting or file."""
    shared = shared or Shared()
    embedder = await open_embedder(settings, stack, shared)
    watched = WatchedEmbedder(embedder) if embedder is not None else None
    catalog: CatalogPort
    if settings.catalog_url == EMBEDDED:
        catalog = await _open_embedded_catalog(settings, stack, watched, progress, shared)
    else:
        catalog = await _open_opensearch(settings, stack, watched)
    return Ports(
        *await _open_store(settings, stack, catalog, shared),
        catalog=catalog,
        pages=await _open_pages(settings, stack),
        embedder=watched,
        prepared=getattr(catalog, "wait_for_vectors", nothing_to_prepare),
        classifier=await open_classifier(settings, stack),
    )


def preload(settings: Settings, folder: Path, progress: Progress | None) -> Shared:
    """Imports the configured backends' modules, loads the embedded ones, and writes an embedded store to a file in `folder`.
    Blocks for a second or more. Starts no thread, since threads do not survive a fork. Raises `SettingError` for an unusable
    catalogue file, and `StoreFileError` for an unusable volumes or orders file."""
    for driver in list_drivers(settings):
        import_module(driver)
    catalog = _load_catalog(settings, progress) if settings.catalog_url == EMBEDDED else None
    store = _write_store(settings, catalog, folder) if settings.store_url == EMBEDDED else None
    return Shared(catalog, _load_encoder(settings), store)


def _write_store(settings: Settings, catalog: Loaded | None, folder: Path) -> SharedStore:
    from tools.store.backends.embedded.stock_and_orders import EmbeddedReleases, EmbeddedStore, EmbeddedTitles, write_store

    if catalog is None:
        with _catalog_file_setting():
            titles, offers = zip(*load_records(settings), strict=True)
    else:
        titles, offers = tuple(catalog.columns.titles), tuple(catalog.columns.offers)
    check_title_ids(settings, titles)
    file = folder / "store.db"
    write_store(file, zip((each.title_id for each in titles), offers, strict=True), *store_files(settings))
    with closing(EmbeddedStore.of_file(file)) as store:
        releases = EmbeddedReleases(releases_of(titles, store.dated_volumes()))
    return SharedStore(EmbeddedTitles(titles), releases, file, folder / "people.db")


def _load_encoder(settings: Settings) -> Encoder | None:
    if settings.embedder != "local":
        return None
    from tools.store.backends.embedding import load_encoder

    try:
        return load_encoder()
    except (ImportError, OSError, ValueError):  # each worker fails likewise, and searches match words only
        return None


def list_drivers(settings: Settings) -> list[str]:
    """Returns the module names of the configured backends. The modules and their libraries take tens of megabytes, which
    workers share if the supervisor has imported the modules."""
    backends = "tools.store.backends"
    wanted = {
        f"{backends}.opensearch.catalog": settings.catalog_url != EMBEDDED,
        f"{backends}.dynamodb.store": settings.store_url != EMBEDDED,
        f"{backends}.embedded.catalog": settings.catalog_url == EMBEDDED,
        f"{backends}.embedded.stock_and_orders": settings.store_url == EMBEDDED,
        f"{backends}.embedded.customers": settings.store_url == EMBEDDED,
        f"{backends}.bedrock": settings.embedder.startswith("bedrock:"),
        "session.redis.cluster": "+cluster:" in settings.redis_url,
        "session.redis.multiplexed": True,
    }
    return [driver for driver, needed in wanted.items() if needed]


async def open_redis(settings: Settings, stack: AsyncExitStack) -> Redis:
    """Opens Redis until `stack` closes. Waits until the embedded Valkey has started; raises `MemoryUnavailable` if it does
    not. Waits at most `CONNECT_SECONDS` for a remote Redis; a connection that takes longer is opened in the background."""
    if settings.redis_url == EMBEDDED:
        from session.redis.embedded import embedded_redis

        return await stack.enter_async_context(embedded_redis())
    address = RedisAddress.parse(settings.redis_url)
    credentials = redis_credentials(address)
    redis: Redis
    if address.cluster:
        from session.redis.cluster import ClusteredRedis

        redis = ClusteredRedis(address, credentials)
    else:
        from session.redis.multiplexed import MultiplexedRedis

        redis = MultiplexedRedis(address, credentials)
    stack.push_async_callback(redis.aclose)
    await redis.connect(Deadline.after(CONNECT_SECONDS))
    return redis


def redis_credentials(address: RedisAddress) -> Credentials | None:
    if address.iam is None or address.username is None:
        return None
    from session.redis.iam import ElastiCacheIam

    serverless = ".serverless." in address.host  # only endpoints of Serverless caches have this in their name
    return ElastiCacheIam(address.username, address.iam.cache, address.iam.region, serverless=serverless).get_credentials
