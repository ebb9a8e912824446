"""Arguments of any JSON against the validator of each tool: checked whole, and told how to mend."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.support.fuzzing import CONDITIONS, LEAKS, TEXT, VALUES, examples
from tools.conditions.arguments import contradictions
from tools.registry import Registered, Registry
from tools.schema.text import clean
from tools.store.failures import InvalidArguments

REGISTRY = Registry()
EVERY_TOOL = pytest.mark.parametrize("name", [tool.name for tool in REGISTRY])
GOOD = {
    "query": "berserk",
    "genre": "seinen",
    "author": "Miura",
    "max_results": 5,
    "min_rating": 4.5,
    "title_id": "manga-000001",
    "title_ids": ["manga-000001"],
    "result_set": "rs_abcdefghijklmnop",
    "criteria": "dark fantasy",
    "user_id": "demo-user-1",
    "exclude_titles": ["Berserk"],
    "count": 3,
    "order_id": "MNG-DEMO1001",
    "volume": "第12巻",
    "month": "2026-11",
    "preference": "I don't like gore",
    "text": "A boy learns to play shogi.",
    **CONDITIONS,
}


def tool_of(name: str) -> Registered:
    registered = REGISTRY.get(name)
    assert registered is not None
    return registered


def properties(name: str) -> dict[str, Any]:
    return dict(tool_of(name).tool.input_schema["properties"])


def is_wrong(name: str, argument: str, value: Any) -> bool:
    """By an independent reading of one property's schema: strict JSON, where NaN is no number."""
    tool, cleaned = tool_of(name).tool, clean(value)
    rule = tool.input_schema["properties"][argument] if argument in tool.spelled else {}
    if rule.get("type") == "string" and type(cleaned) is int:
        cleaned = str(cleaned)
    if argument in tool.spelled and isinstance(cleaned, str):
        cleaned = tool.spelled[argument](cleaned)
    elif isinstance(cleaned, list) and "pattern" in rule.get("items", {}):
        cleaned = [tool.spelled[argument](each) if isinstance(each, str) else each for each in cleaned]
    if isinstance(cleaned, float) and not math.isfinite(cleaned):
        return True
    return not Draft202012Validator(properties(name)[argument]).is_valid(cleaned)


def refused(name: str, arguments: dict[str, Any]) -> InvalidArguments | None:
    try:
        tool_of(name).validator.validate(arguments)
    except InvalidArguments as failure:
        return failure
    return None


def check_told(failure: InvalidArguments) -> None:
    """Each violation has a path, a rule, what is wrong and how to mend it, and the whole is JSON that can be sent."""
    assert failure.violations
    for violation in failure.violations:
        assert violation.path.startswith("$")
        assert violation.rule
        assert violation.message
        assert violation.fix
        assert len(violation.message) < 500
        assert LEAKS.search(violation.fix) is None
    json.dumps(failure.details, ensure_ascii=False, allow_nan=False).encode()


@EVERY_TOOL
@given(arguments=st.dictionaries(TEXT, VALUES, max_size=8))
@examples(40)
def test_any_object_is_checked_or_refused_with_reasons(name: str, arguments: dict[str, Any]) -> None:
    """Never another exception, and what passes satisfies the schema it was checked against."""
    failure = refused(name, arguments)
    if failure is not None:
        check_told(failure)
        return
    passed = tool_of(name).validator.validate(arguments)
    Draft202012Validator(tool_of(name).tool.input_schema).validate(passed)
    json.dumps(passed, ensure_ascii=False, allow_nan=False).encode()


@EVERY_TOOL
@given(data=st.data())
@examples(60)
def test_every_violation_is_named_at_once(name: str, data: st.DataObject) -> None:
    """Each wrong value, each unknown name and each missing one is in one answer, with its path."""
    known = properties(name)
    chosen = data.draw(st.lists(st.sampled_from(sorted(known)), unique=True), label="chosen")
    arguments = {each: data.draw(st.just(GOOD[each]) | VALUES, label=each) for each in chosen}
    unknown = data.draw(st.lists(st.from_regex(r"[a-z]{3,12}_x", fullmatch=True), unique=True, max_size=4), label="unknown")
    arguments |= {each: data.draw(VALUES, label=each) for each in unknown}

    required = tool_of(name).tool.input_schema["required"]
    left_out = {each for each in set(chosen) - set(required) if clean(arguments[each]) in (None, "")}
    wrong = {each for each in set(chosen) - left_out if is_wrong(name, each, arguments[each])}
    wrong |= set(unknown) | {each for each in required if each not in arguments}
    given = {each: clean(value) for each, value in arguments.items()}
    wrong |= {violation.path.removeprefix("$.") for violation in contradictions(given)}
    failure = refused(name, arguments)
    meant = arguments.keys() - left_out
    if {"volume", "month"} <= meant or (clean(arguments.get("title_ids")) and "result_set" in meant):
        assert failure is not None
        assert "$" in {violation.path for violation in failure.violations}
    elif not wrong:
        assert failure is None
        return
    assert failure is not None, wrong
    check_told(failure)
    named = {violation.path.removeprefix("$.").partition("[")[0] for violation in failure.violations} - {"$"}
    assert named == wrong


@EVERY_TOOL
@given(data=st.data())
@examples(20)
def test_what_passed_passes_again_unchanged(name: str, data: st.DataObject) -> None:
    """Cleaning and completing are done once and for all."""
    known = properties(name)
    optional = data.draw(st.lists(st.sampled_from(sorted(set(known) - {"result_set"})), unique=True))
    required = tool_of(name).tool.input_schema["required"]
    arguments = {each: GOOD[each] for each in {*required, *optional}}
    for each in ("query", "criteria", "author"):
        if each in arguments:
            arguments[each] = data.draw(st.text(min_size=1, max_size=40).filter(lambda text: bool(clean(text))))
    if refused(name, arguments) is not None:
        return
    once = tool_of(name).validator.validate(arguments)
    assert tool_of(name).validator.validate(once) == once


NOT_JSON_NUMBERS = [math.nan, math.inf, -math.inf, 10**5000, -(10**5000)]


@pytest.mark.parametrize("value", NOT_JSON_NUMBERS, ids=["nan", "inf", "-inf", "huge", "-huge"])
@pytest.mark.parametrize("argument", ["max_results", "min_rating"])
def test_numbers_that_are_none_are_refused(argument: str, value: float) -> None:
    """NaN lies within every range, and no JSON reader agrees on more digits than a double has."""
    failure = refused("search_manga_catalog", {"query": "berserk", argument: value})
    assert failure is not None
    assert {violation.path for violation in failure.violations} == {f"$.{argument}"}


def test_a_whole_number_may_be_written_with_a_point() -> None:
    """JSON has one kind of number: 5.0 is 5, for the schema and for the tool."""
    passed = tool_of("search_manga_catalog").validator.validate({"query": "berserk", "max_results": 5.0})
    assert passed["max_results"] == 5
    assert isinstance(passed["max_results"], int)


@pytest.mark.parametrize("depth", [40, 900, 20_000])
def test_nesting_without_end_is_refused_like_any_wrong_type(depth: int) -> None:
    """No recursion runs out, here or in the messages."""
    value: Any = "deep"
    for _ in range(depth):
        value = [value]
    failure = refused("check_inventory", {"title_ids": value})
    assert failure is not None
    check_told(failure)


IDS = [
    ("get_manga_details", "title_id", "manga-000001\n"),
    ("check_inventory", "result_set", "rs_abcdefghijklmnop\n"),
    ("lookup_order", "order_id", "MNG-DEMO1001\n"),
]


@pytest.mark.parametrize(("name", "argument", "value"), IDS)
def test_an_id_with_a_newline_at_its_end_is_refused(name: str, argument: str, value: str) -> None:
    """A pattern's end is the end of the text, not the place before its last newline."""
    failure = refused(name, {argument: value})
    assert failure is not None
    assert [(v.path, v.rule) for v in failure.violations] == [(f"$.{argument}", "pattern")]


def test_title_ids_and_result_set_together_are_refused() -> None:
    """Two answers to one question are none; and what else is wrong is named with it."""
    failure = refused("check_inventory", {"title_ids": ["no sense"], "result_set": "rs_abcdefghijklmnop", "color": 1})
    assert failure is not None
    assert {v.path for v in failure.violations} == {"$", "$.title_ids[0]", "$.color"}
