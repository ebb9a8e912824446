"""A session's history: calls, the titles shown last, and the values that tools share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import PydanticSerializationError, to_json


def compact(value: Any) -> str:
    """Compact JSON by pydantic's fast writer; by Python's for values that it refuses, such as lone surrogates."""
    try:
        return to_json(value).decode()
    except PydanticSerializationError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


SEARCH, RECOMMENDATIONS = "search", "recommendations"
NOTHING = "-"
"""An empty list of ids: a search that found nothing, in contrast to no search."""
MOST_CALLS = 20
SHARED = ("title_id", "title", "order_id")
"""Values that tools share, by the argument that each can stand in for: the conversation's one title, and its last order."""
STATE = {"shown": ("ids", "query", "by", "titles"), "title": SHARED[:2], "order": SHARED[2:]}
"""The conversation's state, in groups that change together: their fields, of which the first is always present."""
OWN = "own:"
"""Prefix of the field, and group, of the values that a tool shares under its own keys: `own:TOOL` holds a JSON object."""


def by_groups(fields: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The fields by their groups: those of `STATE`, and each tool's own."""
    found = {name: {field: fields[field] for field in own if field in fields} for name, own in STATE.items()}
    found |= {name: {name: value} for name, value in fields.items() if name.startswith(OWN)}
    return {name: own for name, own in found.items() if own}


def own_fields(keys: Iterable[str]) -> tuple[str, ...]:
    """The fields that hold shared keys: `own:TOOL` for `TOOL.name`, none for `SHARED`."""
    return tuple(dict.fromkeys(OWN + key.partition(".")[0] for key in keys if "." in key))


def as_fields(shared: Mapping[str, str]) -> dict[str, str]:
    """Returns shared values as they are stored: the keys of a tool's own in one field."""
    own: dict[str, dict[str, str]] = {}
    for key, value in shared.items():
        tool, _, name = key.partition(".")
        if name:
            own.setdefault(OWN + tool, {})[name] = value
    return {key: value for key, value in shared.items() if "." not in key} | {
        name: compact(each) for name, each in own.items()
    }


def read_ids(stored: bytes | None) -> tuple[str, ...] | None:
    """Title ids stored with spaces between them; None where nothing is stored."""
    return tuple(stored.decode().removeprefix(NOTHING).split()) if stored else None


def read_shared(fields: Mapping[bytes, bytes | None]) -> dict[str, str]:
    """The shared values that are present, by key."""
    shared = {name: value.decode() for name in SHARED if (value := fields.get(name.encode()))}
    for name, value in fields.items():
        if value and name.startswith(OWN.encode()):
            tool = name.decode().removeprefix(OWN)
            shared |= {f"{tool}.{key}": str(each) for key, each in _object(value).items()}
    return shared


def _object(stored: bytes) -> dict[str, Any]:
    """The JSON object; empty for anything else, so that one tool's field cannot spoil the others."""
    try:
        read = json.loads(stored)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


@dataclass(frozen=True, slots=True)
class LastShown:
    """The titles that a conversation was shown last, the query, and `by` which kind of tool: SEARCH or RECOMMENDATIONS.
    `titles` are their names, where they were read."""

    title_ids: tuple[str, ...]
    titles: tuple[str, ...]
    query: str
    by: str = SEARCH

    @classmethod
    def read(cls, fields: Mapping[bytes, bytes | None]) -> LastShown | None:
        """Decodes the titles shown last; None if none were shown. Records of older versions have no `by`."""
        ids = read_ids(fields.get(b"ids"))
        if ids is None:
            return None
        titles = json.loads(fields.get(b"titles") or b"[]")
        by = fields.get(b"by") or SEARCH.encode()
        return cls(ids, tuple(titles), (fields.get(b"query") or b"").decode(), by.decode())

    @property
    def fields(self) -> dict[str, str]:
        """The stored fields."""
        ids = " ".join(self.title_ids) or NOTHING
        return {"ids": ids, "titles": compact(self.titles), "query": self.query, "by": self.by}


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One call in a session's history. `arguments` are those of the tool's allowlist; `words` are the customer's own;
    `shown` the answer's first titles, (id, name); `result` the id of a shortened answer's whole, "" for none. `at` is in
    seconds since the epoch."""

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

    def as_json(self) -> str:
        return compact(self.as_dict())

    def as_dict(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def read(cls, stored: bytes) -> HistoryEntry:
        """Raises ValueError, TypeError or AttributeError for malformed JSON; ignores fields of later versions."""
        read = json.loads(stored)
        shown = tuple((str(title_id), str(name)) for title_id, name in read.get("shown", ()))
        return cls(**{name: read[name] for name in cls.__slots__ if name in read} | {"shown": shown})


@dataclass(frozen=True, slots=True)
class Recollection:
    """A session read back: the last 20 calls, latest first, totals, the titles shown last and the shared values. `known` is
    False where Redis could not be read."""

    calls: tuple[HistoryEntry, ...] = ()
    totals: Mapping[str, int] = field(default_factory=dict)
    last_shown: LastShown | None = None
    shared: Mapping[str, str] = field(default_factory=dict)
    known: bool = True
