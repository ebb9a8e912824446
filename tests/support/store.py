"""Stores in every mood: the embedded backends over a small catalogue, each behind a port that can be told to misbehave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.loop_thread import SECONDS, Held, LoopThread
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.backends.embedded.customers import EmbeddedCustomers
from tools.store.backends.embedded.stock_and_orders import EmbeddedReleases, EmbeddedStore, EmbeddedTitles
from tools.store.backends.pages.directory import DemoPages
from tools.store.failures import DependencyFailure, Throttled
from tools.store.models import Order, OrderLine
from tools.store.store import releases_of


class Mood(StrEnum):
    WORKS = "works"
    FAILS = "fails"
    THROTTLES = "throttles"
    HANGS = "hangs"
    BREAKS = "breaks"  # raises what nobody foresaw
    DROPS = "drops"  # the network speaks past the adapter


KEPT = ("terms", "match_names")
BAD = [Mood.FAILS, Mood.THROTTLES, Mood.HANGS, Mood.DROPS]


@dataclass(slots=True)
class Moody:
    """A port in front of a working one. `asked` counts what came in, `cancelled` what was stopped while it hung,
    `gate` holds calls back until it is set, but not those for what a catalogue keeps in the process."""

    inner: Any
    mood: Mood = Mood.WORKS
    asked: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    cancelled: int = 0
    gate: asyncio.Event | None = None

    def __getattr__(self, method: str) -> Any:
        async def ask(*arguments: Any) -> Any:
            self.asked.append((method, arguments))
            await self._misbehave(gated=method not in KEPT)
            return await getattr(self.inner, method)(*arguments)

        return ask

    async def _misbehave(self, *, gated: bool) -> None:
        match self.mood:
            case Mood.FAILS:
                raise DependencyFailure("The backend is down.", dependency="it", details={})
            case Mood.THROTTLES:
                raise Throttled("Too many.", dependency="it", retry_after_ms=500)
            case Mood.BREAKS:
                raise KeyError("postgres://admin:hunter2@db/secret")
            case Mood.DROPS:
                raise ConnectionResetError("10.0.0.7:9200")
            case Mood.HANGS:
                await self._hold(asyncio.Event())
            case Mood.WORKS if gated and self.gate is not None:
                await self._hold(self.gate)

    async def _hold(self, until: asyncio.Event) -> None:
        try:
            await until.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


@dataclass(slots=True)
class Backends:
    catalog: Moody
    titles: Moody
    stock: Moody
    releases: Moody
    orders: Moody
    profiles: Moody
    preferences: Moody
    pages: Moody


RECORDS = [
    {
        "title_id": f"manga-{n:06}",
        "title": {"en": name, "ja": ja},
        "authors": [{"name": author}],
        "genre": genre,
        "tags": tags,
        "rating": rating,
        "popularity_rank": n,
        "synopsis": {"en": f"{name} is a story about {tags[0].lower()}."},
        "offers": [{"format": "physical", "price_jpy": 500 + n, "stock": n % 3}],
        "related": [f"manga-{n % 6 + 1:06}"],
    }
    for n, (name, ja, author, genre, tags, rating) in enumerate(
        [
            ("Pirate Sea", "海賊の海", "Oda, Eiji", "shonen", ["Pirates", "Adventure"], 4.8),
            ("Chess Ghost", "碁の幽霊", "Obata, Ken", "shonen", ["Games", "Ghosts"], 4.5),
            ("Monster Hunter Doctor", "怪物医師", "Urasawa, Nao", "seinen", ["Mystery", "Medical"], 4.7),
            ("Rose Garden", "薔薇の園", "Ikeda, Rio", "shojo", ["Romance", "Historical"], 4.1),
            ("Kitchen Days", "台所の日々", "Ono, Mari", "josei", ["Cooking", "Daily Life"], 3.9),
            ("Robot Cat", "猫型ロボ", "Fuji, Koh", "kodomo", ["Robots", "Comedy"], None),
        ],
        start=1,
    )
]


def an_order(order_id: str, *title_ids: str) -> Order:
    lines = tuple(OrderLine(i, f"Title {i}", 1, None, "physical", 1, 500) for i in title_ids)
    subtotal = 500 * len(lines)
    return Order(order_id, "shipped", "2026-10-01T00:00:00Z", lines, subtotal, 300, subtotal + 300, "Tokyo")


ORDERS = (("u", an_order("MNG-UUUU0001", "manga-000001")), ("v", an_order("MNG-VVVV0001", "manga-000002", "manga-000003")))


@dataclass(frozen=True, slots=True)
class Shelf:
    """The working backends, opened once: they only answer, and remember nothing of who asked. Profiles do, and are new
    for each."""

    catalog: EmbeddedCatalog
    store: EmbeddedStore
    pages: DemoPages

    def in_moods(self) -> Backends:
        titles = EmbeddedTitles(self.catalog.titles)
        releases = EmbeddedReleases(releases_of(self.catalog.titles, self.store.dated_volumes()))
        inner = (
            self.catalog,
            titles,
            self.store,
            releases,
            self.store,
            EmbeddedCustomers(),
            EmbeddedCustomers(),
            self.pages,
        )
        return Backends(*map(Moody, inner))


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    with held_shelf(tmp_path_factory.mktemp("shelf")) as held:
        yield held


@contextmanager
def held_shelf(folder: Path, *contents: Any, seconds: float = SECONDS) -> Iterator[Shelf]:
    """A shelf on a loop of its own, for fixtures that outlive a test; `contents` as in `open_shelf`."""
    thread = LoopThread()
    held = Held(thread, partial(open_shelf, folder, *contents), seconds)
    yield held.value
    held.close()
    thread.close()


@asynccontextmanager
async def open_shelf(
    folder: Path,
    records: list[dict[str, Any]] = RECORDS,
    owned: Sequence[tuple[str, Order]] = ORDERS,
    volumes: Sequence[dict[str, Any]] = (),
) -> AsyncIterator[Shelf]:
    """`owned` are orders by their owners, `volumes` lines of the volumes file."""
    catalogue = _lines(folder / "catalog.jsonl", records)
    orders = _lines(folder / "orders.jsonl", [{"owner": owner, **asdict(order)} for owner, order in owned])
    printed = _lines(folder / "volumes.jsonl", list(volumes)) if volumes else None
    async with (
        EmbeddedCatalog.open(catalogue, None) as catalog,
        EmbeddedStore.open([(title.title_id, offers) for title, offers in catalog.records], printed, orders) as store,
        DemoPages.open() as pages,
    ):
        yield Shelf(catalog, store, pages)


def _lines(path: Path, records: list[Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path
