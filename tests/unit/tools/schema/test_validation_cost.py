"""What checking arguments costs, counted in steps of the interpreter and not in seconds: no input may cost more than in
proportion to its size, and beyond a size none of it is looked at."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import cases
from tools.registry import TOOLS, Registry
from tools.schema.text import LONGEST_TEXT, MOST_MARKS, MOST_VALUES, clean_text, limit_marks
from tools.store.failures import InvalidArguments

REGISTRY = Registry()


def refused(tool: str, arguments: dict[str, Any]) -> InvalidArguments:
    registered = REGISTRY.get(tool)
    assert registered is not None
    with pytest.raises(InvalidArguments) as told:
        registered.validator.validate(arguments)
    return told.value


def steps(work: Callable[[], object]) -> int:
    """Lines of Python that `work` runs."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


MANY: dict[str, Callable[[int], tuple[str, dict[str, Any]]]] = {
    "names": lambda n: ("search_manga_catalog", {f"a{each}": 1 for each in range(n)}),
    "wrong ids": lambda n: ("check_inventory", {"title_ids": ["x"] * n}),
    "right ids": lambda n: ("check_inventory", {"title_ids": [f"manga-{each:06}" for each in range(n)]}),
    "lists": lambda n: ("check_inventory", {"title_ids": [[1, 2, 3]] * n}),
    "long names": lambda n: ("search_manga_catalog", {"x" * 900 + str(each): 1 for each in range(n)}),
    "long texts": lambda n: ("get_recommendations", {"criteria": "x", "exclude_titles": ["ﷺ" * 900] * n}),
}


@cases("kind", MANY)
def test_too_many_values_are_refused_in_bounded_steps(kind: str) -> None:
    """Sixty times as many values cost hardly more steps, because counting stops at the limit."""
    few, many = (MANY[kind](number) for number in (1000, 60_000))
    failure = refused(*many)
    assert [(each.path, each.rule) for each in failure.violations] == [("$", "maxProperties")]
    assert steps(lambda: refused(*many)) < 2 * steps(lambda: refused(*few)) + 100


def test_largest_arguments_of_every_schema_stay_below_the_value_limit() -> None:
    """The bound on all values never applies before the bounds on single arguments."""
    for tool in TOOLS:
        assert _largest(tool.input_schema["properties"]) < MOST_VALUES


def _largest(properties: dict[str, Any]) -> int:
    """Values that the largest arguments hold, a text counting one for each hundred characters."""
    total = 0
    for rule in properties.values():
        items = rule.get("items", {})
        total += 1 + rule.get("maxLength", 100) // 100 + rule.get("maxItems", 0) * (1 + items.get("maxLength", 100) // 100)
    return total


MARKS = ["\u0301\u0316", "\u0f73", "\uff9e\u0301", "\u0344\u0316", "\U0001d16d\u0301"]


@cases("marks", MARKS, ids=[ascii(each) for each in MARKS])
def test_run_of_combining_marks_is_cut_before_normalising(marks: str) -> None:
    """Normalising sorts a run of marks in quadratic time: a body of marks alone would take minutes."""
    longest = 0
    for run in _runs(limit_marks("a" + marks * 5000)):
        longest = max(longest, len(run))
    assert longest <= 3 * MOST_MARKS


def _runs(text: str) -> Iterator[str]:
    """Characters in a row that are sorted when the text is decomposed."""
    decomposed = unicodedata.normalize("NFKD", text[:2000])
    yield from re.findall(r"1+", "".join("1" if unicodedata.combining(each) else "0" for each in decomposed))


def test_every_combining_mark_of_unicode_is_limited() -> None:
    """The marks are those of this Python's version of Unicode."""
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        if unicodedata.combining(unicodedata.normalize("NFKD", character)[0]):
            assert len(limit_marks(character * 100)) == MOST_MARKS, hex(number)


def test_text_of_real_languages_keeps_its_marks() -> None:
    """Vietnamese, Devanagari, Thai, Hebrew with all its points and halfwidth Japanese are tried."""
    for text in ("Tiếng Việt", "कार्टूनिस्ट", "การ์ตูนญี่ปุ่นที่ดีที่สุด", "בְּרֵאשִׁית", "ﾍﾞﾙｾﾙｸ ﾜﾝﾋﾟｰｽ") * 3:
        assert limit_marks(text * 4) == text * 4


def test_text_beyond_the_length_limit_is_refused_without_normalising() -> None:
    """The refusal states its path and its length like any other."""
    text = "ﷺ" * (LONGEST_TEXT + 1)
    assert clean_text(text) == text
    failure = refused("search_manga_catalog", {"query": text})
    assert [(each.path, each.rule) for each in failure.violations] == [("$.query", "maxLength")]


@cases("text", ["\ufdfa" * 300, "\u3300" * 300, "漫" * 200 + "\ufdfa" * 100, "\u2026" * 300])
def test_text_that_grows_when_normalised_is_cut_soon_after_its_limit(text: str) -> None:
    """Seventy such texts in a call, all refused, took 60 ms of everybody's time."""
    cut = clean_text(text, 300)
    assert 300 < len(cut) < 300 + 32 * 18 + 50
    assert len(clean_text(text[:16], 300)) == len(unicodedata.normalize("NFKC", text[:16]))
    assert refused("get_recommendations", {"criteria": "x", "exclude_titles": [text] * 50}).violations


@given(st.text(st.sampled_from("aé\u0301ｶﾞ\uff9e㌀…漫が\u3099Ａ"), max_size=200))
def test_text_within_its_limit_is_normalised_as_a_whole(text: str) -> None:
    whole = unicodedata.normalize("NFKC", limit_marks(text))
    assert clean_text(text, max(1, len(whole))) == (text if text.isascii() else whole)


def test_every_text_argument_has_a_bounded_length_pattern_or_enum() -> None:
    """The bound stands in the schema that clients see."""
    for tool in TOOLS:
        rules = tool.input_schema["properties"].items()
        for name, rule in ((name, each) for name, either in rules for each in either.get("anyOf", [either])):
            text = rule if rule["type"] == "string" else rule.get("items", {})
            if text.get("type") == "string":
                assert {"maxLength", "pattern", "enum"} & set(text), (tool.name, name)
                assert text.get("maxLength", 0) <= LONGEST_TEXT
            if rule["type"] == "array":
                assert "maxItems" in rule, (tool.name, name)


def patterns() -> list[str]:
    schemas = [rule for tool in TOOLS for rule in tool.input_schema["properties"].values()]
    found = {rule["pattern"] for rule in [*schemas, *(each.get("items", {}) for each in schemas)] if "pattern" in rule}
    return sorted(found)


@cases("pattern", patterns())
def test_every_argument_pattern_is_anchored_and_without_nested_repetition(pattern: str) -> None:
    """Anchored at both ends, with no repetition inside a repetition and no choice: there is nothing to try twice."""
    assert re.fullmatch(r"\^[A-Za-z_-]*(\[[^\]]+\])?(\[[^\]]+\]\{\d+(,\d+)?\})\$", pattern)
