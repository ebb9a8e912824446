"""The store as tools reach it: every port behind its guard, with what is kept of them in the process."""

from __future__ import annotations

from collections.abc import Mapping

from server.backends.policies import BEHIND
from server.backends.ports import Ports
from session.memory import SessionMemory
from session.resilience.clocks import Clock, Clocks
from session.snapshots import Snapshots
from tools.contract import Store
from tools.store.catalog.negative_cache import NegativeCache
from tools.store.catalog.popular import PopularTitles, titles_snapshot
from tools.store.catalog.reader import TitleReader
from tools.store.guarded.backend import Backend
from tools.store.guarded.ports import GuardedCatalog, GuardedOrders, GuardedProfiles, GuardedStock, GuardedTitles
from tools.store.ports import StockPort
from tools.store.stock.reader import StockReader
from tools.store.stock.snapshot import StockSnapshot, rows_snapshot


def guarded_store(
    ports: Ports, backends: Mapping[str, Backend], memory: SessionMemory, clocks: Clocks, *, cache: bool
) -> Store:
    """Puts a guard before every port. Without `cache` every question is asked; what is only for bad times is kept all the
    same."""
    clock = clocks.monotonic
    guarded = GuardedCatalog(ports.catalog, backends["catalog"])
    catalog = NegativeCache(guarded, clock) if cache else guarded
    unhurried = GuardedCatalog(ports.catalog, _behind("catalog", clock))
    stock = GuardedStock(ports.stock, backends["stock"])
    records = GuardedTitles(ports.titles, backends["titles"])
    return Store(
        catalog=catalog,
        stock=StockReader(stock, clock, fresh=cache),
        orders=GuardedOrders(ports.orders, backends["orders"]),
        popular=PopularTitles(unhurried, titles_snapshot(Snapshots(memory)), clock),
        stock_port=stock,
        profiles=GuardedProfiles(ports.profiles, backends["profile"]),
        titles=TitleReader(catalog, records),
        records=records,
        now=clocks.now,
    )


def stock_snapshot(store: Store, memory: SessionMemory, port: StockPort, clocks: Clocks) -> StockSnapshot:
    guarded = GuardedStock(port, _behind("stock", clocks.monotonic))
    return StockSnapshot(guarded, store.stock, store.popular, rows_snapshot(Snapshots(memory)), clocks.wall)


def _behind(name: str, clock: Clock) -> Backend:
    """Makes a guard for background work alone: what becomes of that neither opens the breaker of the calls nor takes one
    of their places."""
    return Backend(name, BEHIND[name], clock)
