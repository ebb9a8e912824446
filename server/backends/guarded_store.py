from __future__ import annotations

import math
from collections.abc import Mapping

from server.backends.opening import Ports
from server.config.settings import Settings, read_vocabulary
from session.memory import SessionMemory
from session.resilience.breaker import BreakerPolicy
from session.resilience.clocks import Clock, Clocks
from session.resilience.deadline import RetryPolicy
from session.stated_preferences import StatedPreferences
from tools.store.audience import Adult
from tools.store.catalog.catalog import AbsentIds, StockWithoutAdult, StoreCatalog, TitleReader, TitlesWithoutAdult
from tools.store.catalog.popular import PopularTitles, titles_snapshot
from tools.store.classification import TextClassifier
from tools.store.guarded import Backend, BackendPolicy, guard_port
from tools.store.models.order import Policies
from tools.store.ports import StockPort, TitlesPort
from tools.store.preferences import PreferenceReader
from tools.store.search.reading.reader import Reader
from tools.store.stock import StockReader, StockSnapshot, rows_snapshot
from tools.store.store import ReleaseReader, Store

POLICIES = {
    # get_manga_details times out at 0.3 s, half of `slow_seconds`: an attempt cut off then still counts as slow.
    "catalog": BackendPolicy(slow_seconds=0.6, attempt_seconds=0.8, telling_share=0.4),
    "titles": BackendPolicy(slow_seconds=0.15, attempt_seconds=0.2),
    "stock": BackendPolicy(slow_seconds=0.15, attempt_seconds=0.2),
    "releases": BackendPolicy(slow_seconds=0.15, attempt_seconds=0.2),
    "orders": BackendPolicy(slow_seconds=0.25, attempt_seconds=0.3),
    # Reads of preferences time out at 0.06 s; they count as slow from half of `slow_seconds`.
    "profile": BackendPolicy(slow_seconds=0.1, attempt_seconds=0.15, telling_share=0.5),
    # A small bulkhead: each answer has three pictures, so a few concurrent answers are larger than all others together.
    "pages": BackendPolicy(slow_seconds=0.6, attempt_seconds=0.75, bulkhead=16),
    # One attempt: if a remote model is slow, a retry would exceed the deadline.
    "classifier": BackendPolicy(slow_seconds=1.2, attempt_seconds=1.4, bulkhead=16, retry=RetryPolicy(attempts=1)),
}
# Look-ups of names only help to parse a search: one short attempt, with a circuit breaker of their own.
NAME_LOOKUP_POLICIES = {"names": BackendPolicy(slow_seconds=0.15, attempt_seconds=0.2, retry=RetryPolicy(attempts=1))}
# Background reads may take longer, run one at a time, and do not count for the circuit breakers of calls.
BACKGROUND_POLICIES = {
    "catalog": BackendPolicy(slow_seconds=5.0, attempt_seconds=5.0, bulkhead=1, retry=RetryPolicy(attempts=1)),
    "titles": BackendPolicy(slow_seconds=5.0, attempt_seconds=5.0, bulkhead=1, retry=RetryPolicy(attempts=1)),
    "stock": BackendPolicy(slow_seconds=1.0, attempt_seconds=1.0, bulkhead=1, retry=RetryPolicy(attempts=1)),
}
# A Redis round trip never counts as slow; if it times out it fails anyway. Under load most of the measured time is this
# process's own work, for which the breaker must not open, as all sessions would lose Redis.
REDIS = BreakerPolicy(slow_seconds=math.inf)


def guarded_store(
    settings: Settings,
    ports: Ports,
    backends: Mapping[str, Backend],
    memory: SessionMemory,
    clocks: Clocks,
    policies: Policies,
) -> Store:
    """Builds the store with timeouts, retries, a bulkhead and a circuit breaker around every port (`guard_port`). With
    MANGA_CACHE=off stock and releases are read from the backend each time, and their cached values serve only as a fallback.
    With MANGA_ADULT=off the catalogue, titles and stock omit adult titles; releases and matched names include them."""
    clock, cache, adult, identifiers = clocks.monotonic, settings.cache, Adult(settings.adult), settings.identifiers
    names = Backend("names", NAME_LOOKUP_POLICIES["names"], clock)
    guarded = guard_port(ports.catalog, backends["catalog"], names)
    unhurried = StoreCatalog(guard_port(ports.catalog, _guard_background("catalog", clock), names), clocks.now, adult)
    catalog = StoreCatalog(guarded, clocks.now, adult, AbsentIds(clock) if cache else None)
    stock: StockPort = guard_port(ports.stock, backends["stock"])
    records: TitlesPort = guard_port(ports.titles, backends["titles"])
    unhurried_records: TitlesPort = guard_port(ports.titles, _guard_background("titles", clock))
    if adult is Adult.OFF:
        stock = StockWithoutAdult(stock, TitleReader(guarded, records))
        records, unhurried_records = TitlesWithoutAdult(records), TitlesWithoutAdult(unhurried_records)
    classifier = None if ports.classifier is None else guard_port(ports.classifier, backends["classifier"])
    popular = PopularTitles(unhurried, titles_snapshot(memory, _variant(adult)), clock, unhurried_records)
    reader = Reader(catalog, clocks.now, popular.match_names, read_vocabulary(settings), identifiers.currency)
    return Store(
        catalog=catalog,
        stock=StockReader(stock, clock, fresh=cache, now=clocks.now),
        releases=ReleaseReader(guard_port(ports.releases, backends["releases"]), clock, fresh=cache),
        orders=guard_port(ports.orders, backends["orders"]),
        popular=popular,
        profiles=guard_port(ports.profiles, backends["profile"]),
        preferences=StatedPreferences(guard_port(ports.preferences, backends["profile"]), memory, clocks.now),
        titles=TitleReader(catalog, records),
        records=records,
        reader=reader,
        preference_reader=PreferenceReader(reader, clock),
        pages=guard_port(ports.pages, backends["pages"]),
        classifying=TextClassifier(catalog, classifier),
        adult=adult,
        policies=policies,
        identifiers=identifiers,
        now=clocks.now,
    )


def stock_snapshot(store: Store, memory: SessionMemory, port: StockPort, clocks: Clocks) -> StockSnapshot:
    guarded = guard_port(port, _guard_background("stock", clocks.monotonic))
    return StockSnapshot(guarded, store.stock, store.popular, rows_snapshot(memory, _variant(store.adult)), clocks.wall)


def _variant(adult: Adult) -> str:
    """Returns a suffix for snapshot keys, so that snapshots with and without adult titles are stored separately."""
    return "-no-adult" if adult is Adult.OFF else ""


def _guard_background(name: str, clock: Clock) -> Backend:
    """Returns the backend's guard for background reads, with a circuit breaker and a bulkhead of its own."""
    return Backend(name, BACKGROUND_POLICIES[name], clock)
