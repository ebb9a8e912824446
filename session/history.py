"""A session's history: calls, the titles shown last, and the values that tools share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import PydanticSerializationError, to_json


def compact(value: Any) -> str:
    """Returns compact JSON by pydantic's fast writer, or by Python's if pydantic refuses the value (lone surrogates)."""
    try:
        return to_json(value).decode()
    except PydanticSerializationError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


SEARCH, RECOMMENDATIONS = "search", "recommendations"
NOTHING = "-"
"""The stored form of an empty list of ids: a search without matches, as opposed to no search."""
MOST_CALLS = 20
SHARED = ("title_id", "title", "order_id")
"""Keys of the values that all tools share: latest single title and order. Each key names the argument that it replaces."""
STATE = {"shown": ("ids", "query", "by", "titles"), "title": SHARED[:2], "order": SHARED[2:]}
"""Fields of the conversation's state by group. A group is written as a whole; its first field is always present."""
OWN = "own:"
"""Prefix of the hash field (also a group) for a tool's own shared values: `own:TOOL` holds them as a JSON object."""


def by_groups(fields: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Splits hash fields into the groups of `STATE`, and a group for each tool's own field. Omits empty groups."""
    found = {name: {field: fields[field] for field in own if field in fields} for name, own in STATE.items()}
    found |= {name: {name: value} for name, value in fields.items() if name.startswith(OWN)}
    return {name: own for name, own in found.items() if own}


def own_fields(keys: Iterable[str]) -> tuple[str, ...]:
    """Returns the hash fields of the tools' own values among these keys, each once: `own:TOOL` for a key `TOOL.name`.
    Skips the keys in `SHARED`, which are fields themselves."""
    return tuple(dict.fromkeys(OWN + key.partition(".")[0] for key in keys if "." in key))


def as_fields(shared: Mapping[str, str]) -> dict[str, str]:
    """Returns shared values as hash fields. The values of each tool's own keys (`TOOL.name`) become one JSON field."""
    own: dict[str, dict[str, str]] = {}
    for key, value in shared.items():
        tool, _, name = key.partition(".")
        if name:
            own.setdefault(OWN + tool, {})[name] = value
    return {key: value for key, value in shared.items() if "." not in key} | {
        name: compact(each) for name, each in own.items()
    }


def read_ids(stored: bytes | None) -> tuple[str, ...] | None:
    """Parses title ids separated by spaces; () for `NOTHING`, None if nothing is stored."""
    return tuple(stored.decode().removeprefix(NOTHING).split()) if stored else None


def read_shared(fields: Mapping[bytes, bytes | None]) -> dict[str, str]:
    shared = {name: value.decode() for name in SHARED if (value := fields.get(name.encode()))}
    for name, value in fields.items():
        if value and name.startswith(OWN.encode()):
            tool = name.decode().removeprefix(OWN)
            shared |= {f"{tool}.{key}": str(each) for key, each in _object(value).items()}
    return shared


def _object(stored: bytes) -> dict[str, Any]:
    """Parses a JSON object; {} for anything else, so that a tool's malformed field does not hide those of other tools."""
    try:
        read = json.loads(stored)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


@dataclass(frozen=True, slots=True)
class LastShown:
    """Titles that the conversation showed last, and the query that found them. `by`: kind of tool that showed them, SEARCH
    or RECOMMENDATIONS. `titles`: their names, empty if not read."""

    title_ids: tuple[str, ...]
    titles: tuple[str, ...]
    query: str
    by: str = SEARCH

    @classmethod
    def read(cls, fields: Mapping[bytes, bytes | None]) -> LastShown | None:
        """Parses the titles shown last; None if nothing is stored. Older records have no `by`, which means SEARCH."""
        ids = read_ids(fields.get(b"ids"))
        if ids is None:
            return None
        titles = json.loads(fields.get(b"titles") or b"[]")
        by = fields.get(b"by") or SEARCH.encode()
        return cls(ids, tuple(titles), (fields.get(b"query") or b"").decode(), by.decode())

    @property
    def fields(self) -> dict[str, str]:
        ids = " ".join(self.title_ids) or NOTHING
        return {"ids": ids, "titles": compact(self.titles), "query": self.query, "by": self.by}


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One call in a session's history. `arguments`: those on the tool's allowlist. `tokens`: estimated, of the answer.
    `words`: the customer's words. `shown`: the answer's first titles as (id, name). `result`: id of a shortened answer's
    full result, else "". `at`: seconds since the epoch."""

    tool: str
    arguments: dict[str, object]
    summary: str
    succeeded: bool
    latency_ms: int
    cache_hit: bool
    tokens: int
    at: float
    words: str = ""
    shown: tuple[tuple[str, str], ...] = ()
    result: str = ""

    def as_dict(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def read(cls, stored: bytes) -> HistoryEntry:
        """Parses an entry; ignores unknown fields. Raises ValueError, TypeError or AttributeError if malformed."""
        read = json.loads(stored)
        shown = tuple((str(title_id), str(name)) for title_id, name in read.get("shown", ()))
        return cls(**{name: read[name] for name in cls.__slots__ if name in read} | {"shown": shown})


@dataclass(frozen=True, slots=True)
class Recollection:
    """A session's state in Redis: the last 20 calls, latest first, sums over all calls (`memory.TOTALS`), titles shown last,
    and values that tools share. `known`: False if Redis could not be read."""

    calls: tuple[HistoryEntry, ...] = ()
    totals: Mapping[str, int] = field(default_factory=dict)
    last_shown: LastShown | None = None
    shared: Mapping[str, str] = field(default_factory=dict)
    known: bool = True
