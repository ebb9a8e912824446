"""`python -m tests.quality.readers`: how well get_recommendations meets readers' taste, as a Markdown table.

Real readers' ratings, one title that each likes held out. What they like becomes their orders, what they rated lower is left out
by `exclude_titles`, and ten titles are asked for: with words that say nothing, and with the reader's own most frequent tags.
The rule was chosen with two thirds of the readers; the locked third is printed apart. What its figures can bear is in
infra/docs/recommendations.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from session.resilience.deadline import Deadline
from tests.quality.sets import evaluation_folder, missing_message
from tools.contract import ToolContext
from tools.get_recommendations import TOOL
from tools.store.backends.embedded.catalog import EmbeddedCatalog
from tools.store.backends.embedded.customers import EmbeddedCustomers
from tools.store.backends.embedded.stock_and_orders import EmbeddedTitles
from tools.store.backends.embedding import LocalEmbedder
from tools.store.catalog.catalog import TitleReader
from tools.store.catalog.popular import PopularTitles
from tools.store.models import Title
from tools.store.search.reading.reader import Reader
from tools.store.store import Store

LIKED, COUNT, MOST_TAGS = 7, 10, 3
PATIENCE_S = 10.0
VAGUE = ("something I would like", "おすすめを教えて", "surprise me")
LEAST_HITS, LEAST_DIFFERENT = 0.07, 1 / 3


@dataclass(frozen=True, slots=True)
class RatingReader:
    """A reader: ratings by title_id, and the one that is held out."""

    name: str
    liked: tuple[str, ...]
    disliked: tuple[str, ...]
    held_out: str

    @property
    def locked(self) -> bool:
        """Whether the rule was chosen without this one: a third of them, by a hash of the name."""
        return sha256(self.name.encode()).digest()[0] % 3 == 0


@dataclass(slots=True)
class Shelves:
    """The orders of all readers: what they like they have bought."""

    bought: Mapping[str, Sequence[str]]

    async def purchased(self, owner: str, deadline: Deadline) -> tuple[str, ...]:
        return tuple(self.bought[owner])


@dataclass(slots=True)
class Outcome:
    """`hits`: whether the title that was held out was among the ten, by reader."""

    hits: dict[str, bool] = field(default_factory=dict)
    shown: Counter[str] = field(default_factory=Counter)
    owned: int = 0

    @property
    def different(self) -> float:
        return len(self.shown) / max(1, self.shown.total())

    def rate(self, readers: Sequence[RatingReader]) -> float:
        return sum(self.hits[each.name] for each in readers) / max(1, len(readers))


def read_readers(path: Path) -> list[RatingReader]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [
        RatingReader(
            row["reader"],
            tuple(title_id for title_id, rating in row["ratings"].items() if rating >= LIKED),
            tuple(title_id for title_id, rating in row["ratings"].items() if rating < LIKED),
            row["held_out"],
        )
        for row in rows
    ]


def own_tags(reader: RatingReader, titles: Mapping[str, Title]) -> str:
    """The tags that most of what the reader likes carries, as words."""
    counts = Counter(tag for title_id in reader.liked for tag in titles[title_id].tags)
    return ", ".join(tag for tag, _ in counts.most_common(MOST_TAGS)) or VAGUE[0]


def store_of(catalog: EmbeddedCatalog, readers: Sequence[RatingReader]) -> Store:
    """What a recommendation reaches, and nothing else."""
    records = EmbeddedTitles(catalog.titles)
    nothing = cast(Any, None)
    return Store(
        catalog=catalog,
        stock=nothing,
        releases=nothing,
        orders=cast(Any, Shelves({each.name: each.liked for each in readers})),
        popular=PopularTitles(catalog),
        profiles=EmbeddedCustomers(),
        preferences=nothing,
        preference_reader=nothing,
        titles=TitleReader(catalog, records),
        records=records,
        reader=Reader(catalog),
        pages=nothing,
        classifying=nothing,
    )


async def measured(store: Store, readers: Sequence[RatingReader], words: Callable[[RatingReader], str]) -> Outcome:
    outcome = Outcome()
    for reader in readers:
        context = ToolContext(store, reader.name, Deadline.after(PATIENCE_S))
        # At most fifty are taken.
        asked = {"criteria": words(reader), "exclude_titles": list(reader.disliked[:50]), "count": COUNT}
        cards = (await TOOL.handler(context, asked))["recommendations"]
        ids = [card["title_id"] for card in cards]
        outcome.hits[reader.name] = reader.held_out in ids
        outcome.shown.update(ids)
        outcome.owned += len({*reader.liked, *reader.disliked[:50]}.intersection(ids))
    return outcome


def table(outcomes: Mapping[str, Outcome], readers: Sequence[RatingReader]) -> str:
    known, locked = [r for r in readers if not r.locked], [r for r in readers if r.locked]
    lines = [
        f"### {len(readers)} readers, {len(locked)} of them locked away",
        "",
        "| criteria | hit rate@10 | known | locked | different titles | owned or excluded |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for words, each in outcomes.items():
        rates = " | ".join(f"{each.rate(some):.3f}" for some in (readers, known, locked))
        lines.append(f"| {words} | {rates} | {each.different:.2f} | {each.owned} |")
    return "\n".join(lines)


async def run(folder: Path, cache_dir: Path | None) -> bool:
    """Prints the table; whether the bars are reached."""
    readers = read_readers(folder / "readers.jsonl")
    async with (
        LocalEmbedder() as embedder,
        EmbeddedCatalog.open(folder / "catalog.jsonl.gz", embedder, cache_dir=cache_dir) as catalog,
    ):
        await catalog.wait_for_vectors()
        store, titles = store_of(catalog, readers), {title.title_id: title for title in catalog.titles}
        outcomes = {words: await measured(store, readers, lambda _, words=words: words) for words in VAGUE}  # type: ignore[misc]
        outcomes["their own tags"] = await measured(store, readers, lambda reader: own_tags(reader, titles))
    print(table(outcomes, readers))
    return all(
        each.rate(readers) >= LEAST_HITS and each.different >= LEAST_DIFFERENT and not each.owned
        for each in outcomes.values()
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache-dir", type=Path, default=None, help="keep what is computed here")
    options = parser.parse_args()
    folder = evaluation_folder()
    if not (folder / "readers.jsonl").is_file():
        print(f"Skipped: {missing_message()}.")
        return 0
    reached = asyncio.run(run(folder, options.cache_dir))
    print(f"\nBars: hit rate {LEAST_HITS}, different {LEAST_DIFFERENT:.2f}: {'reached' if reached else 'MISSED'}.")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
