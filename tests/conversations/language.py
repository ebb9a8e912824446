"""The small language of expectations: a line of plain words becomes an `Expectation`, or a `Slip` that says how to mend it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tests.conversations.conditions import Condition, alternatives, condition
from tests.conversations.expectations import Count, Either, Expectation, Fails, Ordered, Rows, Says, Shows, Whole
from tests.conversations.notebook import REFERENCE
from tests.conversations.shelf import nearest
from tests.conversations.vocabulary import Slip, Vocabulary

Read = Callable[[re.Match[str], Vocabulary], Expectation]
FAILURES = (
    *("VALIDATION_ERROR", "TOOL_NOT_FOUND", "NOT_FOUND", "FORBIDDEN", "RATE_LIMITED", "BUDGET_EXHAUSTED"),
    *("TIMEOUT", "CIRCUIT_OPEN", "DEPENDENCY_FAILURE", "SERVER_BUSY", "INTERNAL_ERROR", "REFUSED"),
)
"""The names of the contract, and what the agent calls an error of the protocol that has none."""


def expectation(line: str, words: Vocabulary) -> Expectation:
    """Raises Slip."""
    for form, read in FORMS.items():
        if found := re.fullmatch(form, line.strip()):
            return read(found, words)
    return Whole(condition(line.strip(), words))


def _either(found: re.Match[str], words: Vocabulary) -> Expectation:
    return Either(tuple(expectation(each, words) for each in found[1].split(" or else ")))


def _fails(found: re.Match[str], words: Vocabulary) -> Expectation:
    if found[1] not in FAILURES:
        raise Slip(f"no failure is called {found[1]!r}{nearest(found[1], FAILURES)}")
    return Fails(found[1])


def _rows(found: re.Match[str], words: Vocabulary) -> Expectation:
    return Rows(found[1], words.noun(found[2]), _conditions(found[3], words))


def _count(found: re.Match[str], words: Vocabulary) -> Expectation:
    conditions = _conditions(found[4], words) if found[4] else ()
    return Count(found[1], int(found[2]), words.noun(found[3]), conditions)


def _none(found: re.Match[str], words: Vocabulary) -> Expectation:
    return Count("exactly", 0, words.noun(found[1]))


def _shows(found: re.Match[str], words: Vocabulary) -> Expectation:
    named = (each if REFERENCE.fullmatch(each) else words.title(each) for each in alternatives(found[2]))
    return Shows(found[1], tuple(named))


def _ordered(found: re.Match[str], words: Vocabulary) -> Expectation:
    return Ordered(words.noun(found[1]), words.field(found[2]), found[3] == "highest")


def _says(found: re.Match[str], words: Vocabulary) -> Expectation:
    return Says(alternatives(found[1]))


def _conditions(text: str, words: Vocabulary) -> tuple[Condition, ...]:
    return tuple(condition(each.strip(), words) for each in text.split(";"))


FORMS: Mapping[str, Read] = {
    r"either (.+)": _either,
    r"error ([A-Z_]+)": _fails,
    r"(every|some|no|first|second|third|last) (\w+): (.+)": _rows,
    r"(at least|at most|exactly) (\d+) (\w+)(?:: (.+))?": _count,
    r"no (\w+)": _none,
    r"shows (all|one|none) of: (.+)": _shows,
    r"(\w+) by ([\w.]+), (lowest|highest) first": _ordered,
    r"says (.+)": _says,
}
