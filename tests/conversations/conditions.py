"""What is said of one row of an answer: `status = Finished`, `tagged Horror | Gore`, `reason is known`."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tests.conversations.notebook import REFERENCE, Notebook
from tests.conversations.shelf import Json, folded
from tests.conversations.vocabulary import Slip, Vocabulary

ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
TAGGED = re.compile(r"(not )?tagged (.+)")
STATED = re.compile(r"([\w.]+) is (known|unknown)")
COMPARED = re.compile(r"([\w.]+) (=|!=|<=|>=|<|>|mentions) (.+)")


class Condition(Protocol):
    def holds(self, row: Json, notes: Notebook) -> bool:
        """Raises NotShown."""
        ...


def fact(row: Json, path: tuple[str, ...], notes: Notebook) -> Any:
    """By the shelf where it knows, else by the answer. None for what nobody says, and for what the answer says wrongly."""
    title = notes.shelf.get(row.get("title_id", "")) if len(path) == 1 else None
    stated: Any = row
    for step in path:
        stated = stated.get(step) if isinstance(stated, dict) else None
    if title is None or path[0] not in title.values or isinstance(stated, list | dict):
        return title.values["tags"] if title and path == ("tags",) else stated
    known = title.values[path[0]]
    if isinstance(stated, int | float) and stated != known:
        return None
    return known


@dataclass(frozen=True, slots=True)
class Tagged:
    words: tuple[str, ...]
    wanted: bool

    def holds(self, row: Json, notes: Notebook) -> bool:
        tags = fact(row, ("tags",), notes)
        return tags is not None and self.wanted == bool(set(self.words) & set(tags))


@dataclass(frozen=True, slots=True)
class Stated:
    """Whether anything is said at all: neither null nor empty."""

    path: tuple[str, ...]
    wanted: bool

    def holds(self, row: Json, notes: Notebook) -> bool:
        return self.wanted == (fact(row, self.path, notes) not in (None, "", [], {}))


@dataclass(frozen=True, slots=True)
class Compared:
    path: tuple[str, ...]
    how: str
    values: tuple[str, ...]

    def holds(self, row: Json, notes: Notebook) -> bool:
        found = fact(row, self.path, notes)
        wanted = [notes.filled(value) for value in self.values]
        if self.how == "mentions":
            text = folded(json.dumps(found, ensure_ascii=False))
            return any(folded(value) in text for value in wanted)
        if found is None:
            return self.how == "!="
        if self.how in ORDER:
            return isinstance(found, int | float) and ORDER[self.how](found, float(wanted[0]))
        return (self.how == "=") == any(_same(found, value) for value in wanted)


@dataclass(frozen=True, slots=True)
class Named:
    """`title = …`: any of its names will do, in any script."""

    title_ids: tuple[str, ...]
    wanted: bool

    def holds(self, row: Json, notes: Notebook) -> bool:
        return self.wanted == (row.get("title_id") in self.title_ids)


def condition(text: str, words: Vocabulary) -> Condition:
    """Raises Slip."""
    if found := TAGGED.fullmatch(text):
        return Tagged(words.tags(alternatives(found[2])), not found[1])
    if found := STATED.fullmatch(text):
        return Stated(words.field(found[1]), found[2] == "known")
    if found := COMPARED.fullmatch(text):
        return _compared(words.field(found[1]), found[2], alternatives(found[3]), words)
    raise Slip(f"{text!r} is no condition; write for example 'volumes <= 10', 'tagged Horror' or 'note mentions stock'")


def alternatives(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split("|"))


def _compared(path: tuple[str, ...], how: str, values: tuple[str, ...], words: Vocabulary) -> Condition:
    if path == ("title",) and how in ("=", "!="):
        return Named(tuple(map(words.title, values)), how == "=")
    if how in ORDER and not re.fullmatch(r"-?\d+(\.\d+)?", values[0]) and not REFERENCE.fullmatch(values[0]):
        raise Slip(f"{path[0]} {how} {values[0]!r}: a number has to stand here")
    return Compared(path, how, values)


def _same(found: Any, value: Any) -> bool:
    if isinstance(found, bool):
        return folded(found) == folded(value)
    if isinstance(found, int | float):
        try:
            return found == float(value)
        except ValueError:
            return False
    return folded(found) == folded(value)
