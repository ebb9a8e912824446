"""Generates the demo store's files from titles.jsonl, reproducibly: `python -m infra.demo.generate`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from infra.demo.catalogue import StockedTitle, read_titles, stocked_titles
from infra.demo.order_plans import PLANS
from infra.demo.orders import OrderDesk
from infra.demo.ratings import rating_counts

FOLDER = Path(__file__).parent

_FIELDS = (
    *("title_id", "title", "alt_titles", "authors", "genre", "tags", "synopsis", "rating", "rating_count", "rating_counts"),
    *("popularity_rank", "volumes", "chapters", "status", "start_year", "end_year", "magazine", "offers", "related"),
)


def build(titles: Path) -> dict[str, str]:
    """Returns the contents of catalog.jsonl, volumes.jsonl and orders.jsonl, by file name. Raises ValueError for duplicate
    titles, and for a missing title that a sample order needs."""
    stocked = stocked_titles(read_titles(titles))
    desk = OrderDesk(stocked)
    return {
        "catalog.jsonl": _lines(_catalog_record(title) for title in stocked),
        "volumes.jsonl": _lines(
            {"title_id": title.title_id, **_without_nones(asdict(volume), keep={"isbn"})}
            for title in stocked
            for volume in title.volumes
        ),
        "orders.jsonl": _lines({"owner": plan.owner, **asdict(desk.order(plan))} for plan in PLANS),
    }


def main() -> None:
    for name, text in build(FOLDER / "titles.jsonl").items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")
        print(f"{name}: {text.count(chr(10))} lines")


def _catalog_record(title: StockedTitle) -> dict[str, Any]:
    stars = rating_counts(title.title_id, title.record["rating"], title.record["rating_count"])
    offers = [_without_nones(asdict(offer), keep={"stock"}) for offer in title.offers]
    known = {**title.record, "rating_counts": stars, "popularity_rank": title.rank, "offers": offers}
    return {name: known[name] for name in _FIELDS}


def _without_nones(record: Mapping[str, Any], keep: set[str]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value is not None or name in keep}


def _lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


if __name__ == "__main__":
    main()
