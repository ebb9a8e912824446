"""The backends as they come, before they are guarded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tools.store.backends.embedding import WatchedEmbedder
from tools.store.ports import (
    CatalogPort,
    Classifier,
    OrdersPort,
    PagesPort,
    PreferencesPort,
    ProfilePort,
    ReleasesPort,
    StockPort,
    TitlesPort,
)

CONNECT_SECONDS = 1.0
EMBEDDED = "embedded:"
Progress = Callable[[int, int, str], None]
Prepared = Callable[[], Awaitable[object]]


async def nothing_to_prepare() -> None:
    """Remote backends load nothing."""


@dataclass(frozen=True, slots=True)
class StorePorts:
    """The ports behind which one store stands."""

    titles: TitlesPort
    stock: StockPort
    releases: ReleasesPort
    orders: OrdersPort
    profiles: ProfilePort
    preferences: PreferencesPort


@dataclass(frozen=True, slots=True)
class Ports(StorePorts):
    """All ports. `prepared` waits for what is loaded in the background."""

    catalog: CatalogPort
    pages: PagesPort
    embedder: WatchedEmbedder | None = None
    prepared: Prepared = nothing_to_prepare
    classifier: Classifier | None = None
