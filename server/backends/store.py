"""Titles' records, stock, releases, orders and profiles: in this process, or in DynamoDB."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack, closing
from pathlib import Path

from server.backends.ports import CONNECT_SECONDS, EMBEDDED, StorePorts
from server.backends.shared import Shared, SharedStore
from server.config.parsing import SettingError
from server.config.policies_file import read_vocabulary
from server.config.settings import DEMO, Settings
from session.resilience.deadline import Deadline
from tools.store.identifiers import IdPattern
from tools.store.models import Title
from tools.store.ports import CatalogPort
from tools.store.releases.dated import releases_of


async def open_store(settings: Settings, stack: AsyncExitStack, catalog: CatalogPort, shared: Shared) -> StorePorts:
    """Opens it as the settings say. Raises `SettingError` for a catalogue file that cannot be used."""
    if settings.store_url != EMBEDDED:
        return await _open_dynamodb(settings, stack)
    if shared.store is not None:
        return _open_shared_store(stack, shared.store, shared.people)
    return await _open_embedded_store(settings, stack, catalog)


def _open_shared_store(stack: AsyncExitStack, shared: SharedStore, people: Path | None) -> StorePorts:
    from tools.store.backends.embedded.people_file import PeopleFile, SharedPreferences, SharedProfiles
    from tools.store.backends.embedded.stock_and_orders import EmbeddedStore

    assert people is not None
    store = stack.enter_context(closing(EmbeddedStore.of_file(shared.file)))
    file = stack.enter_context(closing(PeopleFile(people)))
    return StorePorts(shared.titles, store, shared.releases, store, SharedProfiles(file), SharedPreferences(file))


async def _open_embedded_store(settings: Settings, stack: AsyncExitStack, catalog: CatalogPort) -> StorePorts:
    """Fills it from the catalogue file, whoever searches that: with OpenSearch the file still says what is sold."""
    from tools.store.backends.embedded.preferences import EmbeddedPreferences
    from tools.store.backends.embedded.profile import EmbeddedProfiles
    from tools.store.backends.embedded.releases import EmbeddedReleases
    from tools.store.backends.embedded.stock_and_orders import EmbeddedStore
    from tools.store.backends.embedded.titles import EmbeddedTitles
    from tools.store.records.catalog_file import CatalogFileError, Record, load
    from tools.store.records.store_files import StoreFileError

    known: Sequence[Record] | None = getattr(catalog, "records", None)
    try:
        records = await asyncio.to_thread(load, settings.catalog_file, read_vocabulary(settings)) if known is None else known
    except CatalogFileError as error:
        raise SettingError(f"MANGA_CATALOG_FILE: {error}") from None
    offers = [(title.title_id, sold) for title, sold in records]
    titles = [title for title, _ in records]
    check_title_ids(settings, titles)
    try:
        store = await stack.enter_async_context(EmbeddedStore.open(offers, *store_files(settings)))
    except StoreFileError as error:
        raise SettingError(f"MANGA_ORDERS_FILE, MANGA_VOLUMES_FILE: {error}") from None
    releases = EmbeddedReleases(releases_of(titles, store.dated_volumes()))
    return StorePorts(EmbeddedTitles(titles), store, releases, store, EmbeddedProfiles(), EmbeddedPreferences())


def check_title_ids(settings: Settings, titles: Iterable[Title]) -> None:
    """Raises `SettingError` for a title that no tool could be asked for."""
    pattern = settings.title_pattern
    if odd := next((each.title_id for each in titles if not pattern.matches(each.title_id)), None):
        raise SettingError(f"MANGA_CATALOG_FILE: title_id {pattern.mismatch(odd, 'MANGA_TITLE_PATTERN')}")


def store_files(settings: Settings) -> tuple[Path | None, Path | None, IdPattern]:
    """The volumes and the orders that the embedded store is filled with, and the pattern of their numbers: the files of the
    settings, else the demo's where the catalogue is the demo's too."""
    demo = settings.catalog_file.resolve() == (DEMO / "catalog.jsonl").resolve()
    volumes, orders = (DEMO / "volumes.jsonl", DEMO / "orders.jsonl") if demo else (None, None)
    return settings.volumes_file or volumes, settings.orders_file or orders, settings.order_pattern


async def _open_dynamodb(settings: Settings, stack: AsyncExitStack) -> StorePorts:
    from tools.store.backends.dynamodb.address import DynamoAddress
    from tools.store.backends.dynamodb.store import DynamoStore

    store = await stack.enter_async_context(DynamoStore.open(DynamoAddress.parse(settings.store_url)))
    # The first call makes the connections; a customer should not wait for that. It never raises.
    await store.health(Deadline.after(CONNECT_SECONDS))
    return StorePorts(store.titles, store.stock, store.releases, store.orders, store.profiles, store.preferences)
