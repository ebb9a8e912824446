"""What a query asks for, stated in facts of a title's record, and the judged queries themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

QUERIES = Path(__file__).with_name("queries.jsonl")
NAMES, PLAIN = "names", "plain"
"""The kinds of query that state no condition: a title's name, or a subject, in words that look like one."""


@dataclass(frozen=True, slots=True)
class Where:
    """All of these at once; empty or None asks for nothing. `tags` holds groups: of each, one tag is enough, and one group is
    one part of the subject. `titles` are the names of the one title that is meant. Lists without `without_` are any-of. `plain`
    are words of the query that look like a condition and are none."""

    status: tuple[str, ...] = ()
    min_volumes: int | None = None
    max_volumes: int | None = None
    from_year: int | None = None
    to_year: int | None = None
    genres: tuple[str, ...] = ()
    tags: tuple[tuple[str, ...], ...] = ()
    authors: tuple[str, ...] = ()
    magazine: tuple[str, ...] = ()
    audience: str | None = None
    min_rating: float | None = None
    sort: str | None = None
    titles: tuple[str, ...] = ()
    without_tags: tuple[str, ...] = ()
    without_genres: tuple[str, ...] = ()
    without_authors: tuple[str, ...] = ()
    without_titles: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Where:
        """Raises TypeError for a fact that no query can ask for."""
        return cls(**{name: _frozen(value) for name, value in facts.items()})

    @property
    def excludes(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self) if each.name.startswith("without_"))


@dataclass(frozen=True, slots=True)
class Query:
    """A query as a shopper types it. A locked one is for the figures alone: nobody reads it to make the product better."""

    qid: str
    lang: str
    kind: str
    text: str
    where: Where
    locked: bool

    @property
    def conditional(self) -> bool:
        return self.kind not in (NAMES, PLAIN)


def load_queries(path: Path = QUERIES) -> list[Query]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [Query(row["qid"], row["lang"], row["kind"], row["query"], Where.of(row["where"]), row["locked"]) for row in rows]


def _frozen(value: Any) -> Any:
    return tuple(_frozen(each) for each in value) if isinstance(value, list) else value
