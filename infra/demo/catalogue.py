"""Demo catalogue: hand-written titles with generated popularity ranks, offers and stock."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.demo.isbn import IsbnRegister
from infra.demo.offers import offers_of
from infra.demo.prices import list_price
from infra.demo.publishers import registrant
from infra.demo.shelf import ShelfTitle, continues_soon, stocked_volumes
from tools.store.models import Offer, VolumeStock

Record = dict[str, Any]
"""One title as in titles.jsonl: a catalogue record without `popularity_rank` and `offers`."""


@dataclass(frozen=True, slots=True)
class StockedTitle:
    record: Record
    rank: int
    offers: tuple[Offer, ...]
    volumes: tuple[VolumeStock, ...]

    @property
    def title_id(self) -> str:
        return str(self.record["title_id"])

    @property
    def display(self) -> str:
        names = self.record["title"]
        return str(names["en"] or names["romaji"] or names["ja"])


def read_titles(path: Path) -> list[Record]:
    """Reads all titles, sorted by id. Raises ValueError if two titles share an id, or a Japanese name and start year."""
    with path.open(encoding="utf-8") as file:
        records: list[Record] = [json.loads(line) for line in file if line.strip()]
    _refuse_doubles((record["title_id"], record["title_id"]) for record in records)
    _refuse_doubles(((record["title"]["ja"], record["start_year"]), record["title_id"]) for record in records)
    return sorted(records, key=lambda record: str(record["title_id"]))


def stocked_titles(records: Iterable[Record]) -> list[StockedTitle]:
    """Generates ranks, offers and stock for the records. If two volumes draw the same ISBN, the later takes another."""
    records = list(records)
    by_popularity = sorted(records, key=lambda record: (-(record["rating_count"] or 0), record["title_id"]))
    ongoing = {record["title_id"] for record in records if _ongoing(record)}
    ranks = {record["title_id"]: rank for rank, record in enumerate(by_popularity, 1)}
    later = [i for i in ranks if i in ongoing and not continues_soon(i, ranks[i])]
    register = IsbnRegister()
    return [_stocked(record, ranks[record["title_id"]], later, register) for record in records]


def _stocked(record: Record, rank: int, later: Sequence[str], register: IsbnRegister) -> StockedTitle:
    count = max(1, record["volumes"] or 1)
    shelf = ShelfTitle(
        title_id=record["title_id"],
        registrant=registrant(record["magazine"] or "unknown"),
        price=list_price(record["title_id"], record["genre"], record["start_year"], count),
        volumes=count,
        rank=rank,
        ongoing=_ongoing(record),
        waits=later.index(record["title_id"]) if record["title_id"] in later else 0,
    )
    volumes = stocked_volumes(shelf, register)
    offers = offers_of(shelf.title_id, record["status"] == "Finished", volumes)
    return StockedTitle(record, rank, offers, tuple(volumes))


def _ongoing(record: Record) -> bool:
    return bool(record["status"] == "Publishing")


def _refuse_doubles(pairs: Iterable[tuple[object, str]]) -> None:
    seen: dict[object, str] = {}
    for key, title_id in pairs:
        if key in seen:
            raise ValueError(f"{title_id} and {seen[key]} are the same: {key}")
        seen[key] = title_id
