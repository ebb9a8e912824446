"""What the demo catalogue says of its titles: the judge believes the shelf, never the answer that it judges."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from tests.support.serving import ROOT

CATALOGUE = ROOT / "infra" / "demo" / "catalog.jsonl"
Json = dict[str, Any]


def folded(text: object) -> str:
    """For comparing: no case, no widths, no space at the ends."""
    return unicodedata.normalize("NFKC", str(text)).casefold().strip()


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of a message about a word that is not known."""
    found = get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {found[0]!r}?" if found else ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Of one title. `values` are those that an answer's rows have too, under the names that they have there."""

    title_id: str
    names: tuple[str, ...]
    nicknames: tuple[str, ...]
    values: Json

    @classmethod
    def of(cls, record: Json) -> Facts:
        authors = (each.get(key) for each in record["authors"] for key in ("name", "name_ja", "name_kana"))
        plain = {name: record.get(name) for name in ("genre", "tags", "volumes", "status", "start_year", "rating")}
        names = tuple(name for name in record["title"].values() if name)
        return cls(
            title_id=record["title_id"],
            names=names,
            nicknames=tuple(record.get("alt_titles", ())),
            values={**plain, "title": " / ".join(names), "author": " / ".join(filter(None, authors))},
        )


class Shelf:
    def __init__(self, titles: Iterable[Facts]) -> None:
        self._titles = {title.title_id: title for title in titles}

    @classmethod
    def of_the_demo(cls) -> Shelf:
        return cls.of(json.loads(line) for line in CATALOGUE.read_text("utf-8").splitlines())

    @classmethod
    def of(cls, records: Iterable[Json]) -> Shelf:
        return cls(map(Facts.of, records))

    def __iter__(self) -> Iterator[Facts]:
        return iter(self._titles.values())

    def get(self, title_id: str) -> Facts | None:
        return self._titles.get(title_id)

    def named(self, name: str) -> Facts:
        """Raises LookupError with the nearest name. A nickname counts where no title is called so."""
        wanted = folded(name)
        for names in (self._by_name, self._by_nickname):
            if wanted in names:
                return names[wanted]
        raise LookupError(f"no title is called {name!r}{nearest(name, self._spelt)}")

    @cached_property
    def tags(self) -> frozenset[str]:
        return frozenset(tag for title in self for tag in title.values["tags"])

    @cached_property
    def _by_name(self) -> dict[str, Facts]:
        return {folded(name): title for title in self for name in title.names}

    @cached_property
    def _by_nickname(self) -> dict[str, Facts]:
        return {folded(name): title for title in self for name in title.nicknames}

    @cached_property
    def _spelt(self) -> list[str]:
        return [name for title in self for name in title.names]
