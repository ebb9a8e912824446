"""What an answer must hold. Each kind of expectation says what is wrong with an answer, or nothing where it is met."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tests.conversations.conditions import Condition, fact
from tests.conversations.notebook import Notebook, shown
from tests.conversations.shelf import Json, folded

PLACES = {"first": 0, "second": 1, "third": 2, "last": -1}


class Expectation(Protocol):
    def problem(self, answer: Json, notes: Notebook) -> str | None:
        """In words, or None. Raises NotShown for a reference to what no answer showed."""
        ...


def rows_of(answer: Json, lists: Sequence[str]) -> list[Json]:
    """Rows of one title's volumes do not repeat which title it is."""
    about = {name: answer[name] for name in ("title_id", "title") if name in answer}
    found = (answer[name] for name in lists if isinstance(answer.get(name), list))
    return [{**about, **row} if isinstance(row, dict) else {"text": row} for rows in found for row in rows]


def called(row: Json) -> str:
    return str(
        row.get("title") or row.get("order_id") or row.get("tracking_number") or json.dumps(row, ensure_ascii=False)[:80]
    )


@dataclass(frozen=True, slots=True)
class Rows:
    """`every`, `some`, `no`, or the one at a place: every one of none is not met, no one of none is."""

    which: str
    lists: tuple[str, ...]
    conditions: tuple[Condition, ...]

    def problem(self, answer: Json, notes: Notebook) -> str | None:
        rows = rows_of(answer, self.lists)
        good = [row for row in rows if all(each.holds(row, notes) for each in self.conditions)]
        if self.which == "no":
            return f"so is {called(good[0])}" if good else None
        if not rows:
            return "there is none"
        if self.which == "some":
            return None if good else f"none of {', '.join(map(called, rows))}"
        wanted = rows if self.which == "every" else rows[PLACES[self.which] :][:1]
        bad = [row for row in wanted if row not in good]
        return f"not so: {', '.join(map(called, bad))}" if bad or not wanted else None


@dataclass(frozen=True, slots=True)
class Count:
    how: str
    number: int
    lists: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()

    def problem(self, answer: Json, notes: Notebook) -> str | None:
        rows = rows_of(answer, self.lists)
        good = [row for row in rows if all(each.holds(row, notes) for each in self.conditions)]
        met = {
            "at least": len(good) >= self.number,
            "at most": len(good) <= self.number,
            "exactly": len(good) == self.number,
        }[self.how]
        return None if met else f"there are {len(good)}, of {', '.join(map(called, rows)) or 'none'}"


@dataclass(frozen=True, slots=True)
class Shows:
    """Titles by their ids, or references to them."""

    which: str
    titles: tuple[str, ...]

    def problem(self, answer: Json, notes: Notebook) -> str | None:
        wanted = set(notes.filled(list(self.titles)))
        there = wanted & set(shown(answer))
        met = {"all": there == wanted, "one": bool(there), "none": not there}[self.which]
        if met:
            return None
        names = (title.names[0] for each in shown(answer) if (title := notes.shelf.get(each)))
        return f"it shows {', '.join(names) or 'nothing'}"


@dataclass(frozen=True, slots=True)
class Ordered:
    lists: tuple[str, ...]
    path: tuple[str, ...]
    falling: bool

    def problem(self, answer: Json, notes: Notebook) -> str | None:
        values = [fact(row, self.path, notes) for row in rows_of(answer, self.lists)]
        if not values or None in values:
            return f"the values are {values}"
        return None if values == sorted(values, reverse=self.falling) else f"the order is {values}"


@dataclass(frozen=True, slots=True)
class Says:
    """Anywhere in the answer."""

    texts: tuple[str, ...]

    def problem(self, answer: Json, notes: Notebook) -> str | None:
        whole = folded(json.dumps(answer, ensure_ascii=False))
        return None if any(folded(notes.filled(text)) in whole for text in self.texts) else "it does not"


@dataclass(frozen=True, slots=True)
class Fails:
    """With the failure of this name."""

    name: str

    def problem(self, answer: Json, notes: Notebook) -> str | None:
        if "error" not in answer:
            return "it did not fail"
        found = answer["error"].get("name")
        return None if found == self.name else f"the failure is {found}: {answer['error'].get('message')}"


@dataclass(frozen=True, slots=True)
class Whole:
    """Conditions of the answer itself."""

    condition: Condition

    def problem(self, answer: Json, notes: Notebook) -> str | None:
        return None if self.condition.holds(answer, notes) else "it is not so"


@dataclass(frozen=True, slots=True)
class Either:
    """One of them is enough."""

    choices: tuple[Expectation, ...]

    def problem(self, answer: Json, notes: Notebook) -> str | None:
        problems = [each.problem(answer, notes) for each in self.choices]
        return None if None in problems else "; ".join(filter(None, problems))


def may_fail(expected: Expectation) -> bool:
    """Whether it speaks of a failure: every other answer has to be a success."""
    if isinstance(expected, Either):
        return any(map(may_fail, expected.choices))
    return isinstance(expected, Fails)
