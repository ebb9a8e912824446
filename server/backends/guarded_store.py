"""The store as tools reach it: every port behind its guard, with what is kept of them in the process."""

from __future__ import annotations

from collections.abc import Mapping

from server.backends.policies import BEHIND, BESIDE
from server.backends.ports import Ports
from session.memory import SessionMemory
from session.resilience.clocks import Clock, Clocks
from session.snapshots import Snapshots
from session.stated_preferences import StatedPreferences
from tools.store.catalog.adult import Adult, CatalogWithoutAdult, StockWithoutAdult, TitlesWithoutAdult
from tools.store.catalog.negative_cache import NegativeCache
from tools.store.catalog.of_today import CatalogOfToday
from tools.store.catalog.popular import PopularTitles, titles_snapshot
from tools.store.catalog.reader import TitleReader
from tools.store.classification.classifying import Classifying
from tools.store.guarded.backend import Backend
from tools.store.guarded.ports import (
    GuardedCatalog,
    GuardedClassifier,
    GuardedOrders,
    GuardedPages,
    GuardedPreferences,
    GuardedProfiles,
    GuardedReleases,
    GuardedStock,
    GuardedTitles,
)
from tools.store.identifiers import Identifiers
from tools.store.models.policies import Policies
from tools.store.ports import CatalogPort, StockPort, TitlesPort
from tools.store.preferences.reader import PreferenceReader
from tools.store.releases.reader import ReleaseReader
from tools.store.search.reading.reader import Reader
from tools.store.stock.reader import StockReader
from tools.store.stock.snapshot import StockSnapshot, rows_snapshot
from tools.store.store import Store
from tools.store.tags import Vocabulary


def guarded_store(
    ports: Ports,
    backends: Mapping[str, Backend],
    memory: SessionMemory,
    clocks: Clocks,
    *,
    cache: bool,
    adult: Adult,
    policies: Policies,
    identifiers: Identifiers,
    vocabulary: Vocabulary | None = None,
) -> Store:
    """Puts a guard before every port. Without `cache` every question is asked; what is only for bad times is kept all the
    same. Where titles for adults are `off`, there are none behind any of these doors."""
    clock = clocks.monotonic
    names = Backend("names", BESIDE["names"], clock)
    guarded: CatalogPort = CatalogOfToday(GuardedCatalog(ports.catalog, backends["catalog"], names), clocks.now)
    unhurried: CatalogPort = GuardedCatalog(ports.catalog, _behind("catalog", clock), names)
    stock: StockPort = GuardedStock(ports.stock, backends["stock"])
    records: TitlesPort = GuardedTitles(ports.titles, backends["titles"])
    if adult is Adult.OFF:
        stock = StockWithoutAdult(stock, TitleReader(guarded, records))
        guarded, unhurried = CatalogWithoutAdult(guarded), CatalogWithoutAdult(unhurried)
        records = TitlesWithoutAdult(records)
    catalog = NegativeCache(guarded, clock) if cache else guarded
    classifier = None if ports.classifier is None else GuardedClassifier(ports.classifier, backends["classifier"])
    popular = PopularTitles(unhurried, titles_snapshot(Snapshots(memory), _variant(adult)), clock)
    reader = Reader(catalog, clocks.now, popular.exactly, vocabulary)
    return Store(
        catalog=catalog,
        stock=StockReader(stock, clock, fresh=cache, now=clocks.now),
        releases=ReleaseReader(GuardedReleases(ports.releases, backends["releases"]), clock, fresh=cache),
        orders=GuardedOrders(ports.orders, backends["orders"]),
        popular=popular,
        stock_port=stock,
        profiles=GuardedProfiles(ports.profiles, backends["profile"]),
        preferences=StatedPreferences(GuardedPreferences(ports.preferences, backends["profile"]), memory, clocks.now),
        titles=TitleReader(catalog, records),
        records=records,
        reader=reader,
        preference_reader=PreferenceReader(reader, clock),
        pages=GuardedPages(ports.pages, backends["pages"]),
        classifying=Classifying(catalog, classifier),
        adult=adult,
        policies=policies,
        identifiers=identifiers,
        now=clocks.now,
    )


def stock_snapshot(store: Store, memory: SessionMemory, port: StockPort, clocks: Clocks) -> StockSnapshot:
    guarded = GuardedStock(port, _behind("stock", clocks.monotonic))
    return StockSnapshot(
        guarded, store.stock, store.popular, rows_snapshot(Snapshots(memory), _variant(store.adult)), clocks.wall
    )


def _variant(adult: Adult) -> str:
    """Tells snapshots apart that may hold titles for adults from those that must not."""
    return "-no-adult" if adult is Adult.OFF else ""


def _behind(name: str, clock: Clock) -> Backend:
    """Makes a guard for background work alone: what becomes of that neither opens the breaker of the calls nor takes one
    of their places."""
    return Backend(name, BEHIND[name], clock)
