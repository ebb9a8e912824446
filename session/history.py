"""What is remembered of calls and of what they showed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import PydanticSerializationError, to_json


def compact(value: Any) -> str:
    """By pydantic's writer, which takes a fourth of the time; what that refuses, half a character for one, by Python's."""
    try:
        return to_json(value).decode()
    except PydanticSerializationError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


SEARCH, RECOMMENDATIONS = "search", "recommendations"
NOTHING = "-"
"""Stands for the ids where none were found, which is not the same as nothing having been shown."""
MOST_CALLS = 20
SHARED = ("title_id", "title", "order_id")
"""What tools share by name, each under the name of the argument that it can stand in for: the one title that a conversation
is about, and the order that was looked up last."""
STATE = {"shown": ("ids", "query", "by", "titles"), "title": SHARED[:2], "order": SHARED[2:]}
"""What a conversation is about, by groups that change as one: their fields, of which the first is always there."""
OWN = "own:"
"""Begins the field, and the group, of what one tool shares under keys of its own: `own:TOOL` holds a JSON object."""


def by_groups(fields: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The groups that the fields belong to: those of `STATE`, and each tool's own."""
    found = {name: {field: fields[field] for field in own if field in fields} for name, own in STATE.items()}
    found |= {name: {name: value} for name, value in fields.items() if name.startswith(OWN)}
    return {name: own for name, own in found.items() if own}


def own_fields(keys: Iterable[str]) -> tuple[str, ...]:
    """The fields that hold shared keys: `own:TOOL` for `TOOL.name`, none for `SHARED`."""
    return tuple(dict.fromkeys(OWN + key.partition(".")[0] for key in keys if "." in key))


def as_fields(shared: Mapping[str, str]) -> dict[str, str]:
    """Shared values as they are stored: the keys of a tool's own in one field."""
    own: dict[str, dict[str, str]] = {}
    for key, value in shared.items():
        tool, _, name = key.partition(".")
        if name:
            own.setdefault(OWN + tool, {})[name] = value
    return {key: value for key, value in shared.items() if "." not in key} | {
        name: compact(each) for name, each in own.items()
    }


def read_ids(stored: bytes | None) -> tuple[str, ...] | None:
    """The ids of titles as they are stored, with a space between them; None where there are none stored."""
    return tuple(stored.decode().removeprefix(NOTHING).split()) if stored else None


def read_shared(fields: Mapping[bytes, bytes | None]) -> dict[str, str]:
    """Those of the shared values that there are, by key."""
    shared = {name: value.decode() for name in SHARED if (value := fields.get(name.encode()))}
    for name, value in fields.items():
        if value and name.startswith(OWN.encode()):
            tool = name.decode().removeprefix(OWN)
            shared |= {f"{tool}.{key}": str(each) for key, each in _object(value).items()}
    return shared


def _object(stored: bytes) -> dict[str, Any]:
    """Empty for what is no object: what one tool left must not cost a conversation the rest."""
    try:
        read = json.loads(stored)
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


@dataclass(frozen=True, slots=True)
class LastShown:
    """The titles that a conversation was shown last, what for, and `by` what: SEARCH or RECOMMENDATIONS. `titles` are their
    names, where they were asked for."""

    title_ids: tuple[str, ...]
    titles: tuple[str, ...]
    query: str
    by: str = SEARCH

    @classmethod
    def read(cls, fields: Mapping[bytes, bytes | None]) -> LastShown | None:
        """None where nothing was shown. A record of before there were recommendations in it has no `by`."""
        ids = read_ids(fields.get(b"ids"))
        if ids is None:
            return None
        titles = json.loads(fields.get(b"titles") or b"[]")
        by = fields.get(b"by") or SEARCH.encode()
        return cls(ids, tuple(titles), (fields.get(b"query") or b"").decode(), by.decode())

    @property
    def fields(self) -> dict[str, str]:
        """As `read` finds them."""
        ids = " ".join(self.title_ids) or NOTHING
        return {"ids": ids, "titles": compact(self.titles), "query": self.query, "by": self.by}


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One call as a session remembers it. `arguments` are those a tool's allowlist lets through, `words` what the customer
    said, which only their own session knows; `shown` are the first titles of the answer, an id and a name each, and `result`
    is the id under which the whole of a shortened one was kept, "" for none. `at` is in seconds since the epoch."""

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
        """Raises ValueError, TypeError or AttributeError for what `as_json` did not write. A later version may say more."""
        read = json.loads(stored)
        shown = tuple((str(title_id), str(name)) for title_id, name in read.get("shown", ()))
        return cls(**{name: read[name] for name in cls.__slots__ if name in read} | {"shown": shown})


def read_calls(stored: Sequence[bytes]) -> tuple[HistoryEntry, ...]:
    return tuple(HistoryEntry.read(each) for each in stored)


@dataclass(frozen=True, slots=True)
class Recollection:
    """A session read back: the last 20 calls, latest first, the totals, what was shown last and what tools share. What is
    not `known` could not be read just now."""

    calls: tuple[HistoryEntry, ...] = ()
    totals: Mapping[str, int] = field(default_factory=dict)
    last_shown: LastShown | None = None
    shared: Mapping[str, str] = field(default_factory=dict)
    known: bool = True
