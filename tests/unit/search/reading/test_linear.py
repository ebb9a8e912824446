"""Reading costs what the text is long: no pattern repeats without bound inside, and no work grows faster than the text."""

from __future__ import annotations

import pkgutil
import re
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from re import _constants as opcodes  # type: ignore[attr-defined]
from re import _parser as pattern_parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tools.store.search.reading as reading
from tests.support.reading import MAGAZINES, TAGS
from tools.store.models import CatalogTerms
from tools.store.search.reading.claims import LONGEST, MOST_CLAIMS, apart, claims_of
from tools.store.search.reading.finders import finders
from tools.store.search.reading.names import MOST_NAMES, phrases_around
from tools.store.search.reading.subject import subject_of
from tools.store.search.text.characters import normalise

TERMS = CatalogTerms(dict.fromkeys(TAGS, 9), dict.fromkeys(MAGAZINES, 9))
FINDERS = finders(TERMS, 2026)
_UNITS = (
    *(
        "a",
        "9",
        "一",
        "年",
        "ア",
        "の",
        "'",
        "-",
        " ",
        "1-",
        "not ",
        "no ",
        "the ",
        "in ",
        "from ",
        "between 1 and ",
        "a-b ",
    ),
    *(
        "finished ",
        "published in ",
        "from jump ",
        "jump ",
        "rated ",
        "星",
        "old finished ",
        "short a ",
        "whole series ",
        "全巻",
        "セット",
    ),
    *("5巻", "under 5 volumes ", "¥1,", "twenty ", "like ", "without ", "以外", "for my ", "volumes ", "compleeted "),
)


def _patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    for module in pkgutil.iter_modules(reading.__path__):
        if not module.ispkg:
            names = vars(import_module(f"{reading.__name__}.{module.name}"))
            yield from ((f"{module.name}.{name}", value) for name, value in names.items() if isinstance(value, re.Pattern))


def _endless_in_endless(parsed: Any, inside: bool = False) -> bool:
    """Whether an unbounded repeat stands within another one."""
    for operation, argument in parsed:
        parts = [part for part in _parts(argument) if isinstance(part, pattern_parser.SubPattern)]
        endless = operation in (opcodes.MAX_REPEAT, opcodes.MIN_REPEAT) and argument[1] is opcodes.MAXREPEAT
        if endless and inside:
            return True
        if any(_endless_in_endless(part, inside or endless) for part in parts):
            return True
    return False


def _parts(argument: Any) -> Iterator[Any]:
    yield argument
    if isinstance(argument, tuple | list) and not isinstance(argument, pattern_parser.SubPattern):
        for part in argument:
            yield from _parts(part)


@pytest.mark.parametrize(("name", "pattern"), [pytest.param(*each, id=each[0]) for each in _patterns()])
def test_no_pattern_repeats_without_bound_within_such_a_repeat(name: str, pattern: re.Pattern[str]) -> None:
    assert not _endless_in_endless(pattern_parser.parse(pattern.pattern)), name


def test_such_a_pattern_would_be_seen() -> None:
    assert _endless_in_endless(pattern_parser.parse(r"(?:a+|b)*c"))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=LONGEST) | st.lists(st.sampled_from(_UNITS), max_size=120).map("".join))
def test_anything_is_read(text: str) -> None:
    whole = normalise(text[:LONGEST])

    claims = claims_of(whole, FINDERS)
    kept = apart(claims)

    assert len(claims) <= MOST_CLAIMS
    assert len(phrases_around(whole, claims)) <= MOST_NAMES
    assert all(0 <= claim.start < claim.end <= len(whole) for claim in claims)
    assert all(one.end <= other.start for one, other in zip(kept, kept[1:], strict=False))
    assert len(subject_of(whole, kept)) <= len(whole) + len(kept)


@pytest.mark.parametrize("unit", _UNITS)
def test_work_grows_no_faster_than_the_text(unit: str) -> None:
    """Calls are counted, of Python and of C alike: four times the text is at most about four times the work."""
    short, long = ((unit * LONGEST)[: LONGEST * times] for times in (1, 4))

    assert _work(normalise(long)) <= 5 * _work(normalise(short)) + 2_000


def _work(text: str) -> int:
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        claims = claims_of(text, FINDERS)
        phrases_around(text, claims)
        subject_of(text, apart(claims))
    finally:
        sys.setprofile(before)
    return calls


def test_a_long_cry_after_a_negation_is_read_at_once() -> None:
    begun = time.process_time()

    claims_of("manga, not " + "a" * 45 + "x", FINDERS)

    assert time.process_time() - begun < 0.1
