"""The flags document: its allowed contents, and the error for a wrong one."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from server.call import Principal
from server.config.settings import ROOT
from server.flags.document import MOST_BYTES, SCHEMA, Condition, Document, DocumentError, Segment, caller_values, parse
from tests.support.cases import cases

SECRET = "reader-hunter2"


def parsed(**flags: Any) -> Document:
    return parse(json.dumps(flags).encode())


def why(content: bytes) -> str:
    with pytest.raises(DocumentError) as caught:
        parse(content)
    return str(caught.value)


def why_not(flag: Any) -> str:
    return why(json.dumps({"check_inventory": flag}).encode())


@cases(
    ("stated", "flag"),
    [
        (True, (Segment("on"),)),
        (False, ()),
        ({"percent": 20}, (Segment("on", 20.0),)),
        ({"percent": 0.5}, (Segment("on", 0.5),)),
        ({"enabled": True}, (Segment("on"),)),
        ({"enabled": False}, ()),
        ({"enabled": False, "percent": 20}, ()),
        ({"enabled": True, "percent": 20}, (Segment("on", 20.0),)),
        ({"enabled": True, "_variant": "a"}, (Segment("on"),)),
        ({"segments": []}, ()),
        ({"segments": [{"name": "all"}]}, (Segment("all"),)),
    ],
    ids=str,
)
def test_flag_is_parsed_as_boolean_share_or_segments(stated: Any, flag: tuple[Segment, ...]) -> None:
    """`enabled` is accepted as AppConfig writes it."""
    assert parsed(check_inventory=stated).flags == {"check_inventory": flag}


def test_segment_is_parsed_with_conditions_and_rollout() -> None:
    condition = {"property": "user", "operator": "not_in", "value": ["a", "b"]}
    found = parsed(check_inventory={"segments": [{"name": "some", "rollout": 5, "conditions": [condition]}]})
    expected = Segment("some", 5.0, (Condition("user", frozenset("ab"), negated=True),))
    assert found.flags["check_inventory"] == (expected,)


def test_flag_names_of_the_reference_are_mapped_to_tools() -> None:
    found = parsed(enable_manga_preview_tool=True, enable_price_comparison_tool={"percent": 10})
    assert set(found.flags) == {"preview_manga_pages", "compare_prices"}
    assert "twice" in why(b'{"enable_manga_preview_tool": true, "preview_manga_pages": true}')


def test_unknown_tool_in_the_document_is_accepted_and_reported() -> None:
    found = parsed(check_inventory=True, sell_house=True, **{"$schema": "schema.json"})
    assert found.unknown(["check_inventory", "lookup_order"]) == ["sell_house"]
    first = parse(b'{"$schema": "schema.json", "$reload": "1", "check_inventory": true}')
    assert (first.reload, list(first.flags)) == ("1", ["check_inventory"])
    assert parse(b"{}".ljust(MOST_BYTES)) == Document()


@cases(
    ("content", "told"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"check_inventory": NaN}', "not JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (
            json.dumps({"x" * 64: {"segments": [{"name": "a", "rollout": 101}]}}).encode(),
            f"the flags: $.{'x' * 64}.segments[0].r has to be at most 100",
        ),
        (json.dumps({f"no tool {'x' * 40}": True}).encode(), f"has 'no tool {'x' * 32}', which no tool can be called"),
        (json.dumps({"check_inventory": {"x" * 41: 1}}).encode(), f"has '{'x' * 40}'; there are enabled, percent, segments"),
        (b"[]", "$ has to be of type object"),
        (b"null", "$ has to be of type object"),
        (b'{"check_inventory": true, "check_inventory": false}', "twice"),
        (b'{"no tool": true}', "'no tool'"),
        (b'{"a\\n": true}', "'a?'"),
        (b" " * (MOST_BYTES + 1), f"{MOST_BYTES} bytes"),
        (json.dumps({f"t{n}": True for n in range(201)}).encode(), "more than 200 flags"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_document_is_refused_with_the_reason(content: bytes, told: str) -> None:
    assert told in why(content)


IN = {"property": "user", "operator": "in", "value": [SECRET]}


@cases(
    ("flag", "told"),
    [
        (1, "$.check_inventory has to be of type boolean or object"),
        ("on", "$.check_inventory has to be of type boolean or object"),
        (None, "$.check_inventory has to be of type boolean or object"),
        ({}, "$.check_inventory lacks enabled, percent or segments"),
        ({"_variant": "x"}, "$.check_inventory lacks enabled, percent or segments"),
        ({"percentage": 5}, "$.check_inventory has 'percentage'; there are enabled, percent, segments"),
        (
            {"_variant": 1, "percent": 5, "percentage": 5},
            "$.check_inventory has 'percentage'; there are enabled, percent, segments",
        ),
        ({"percent": 101}, "$.check_inventory.percent has to be at most 100"),
        ({"percent": -1}, "$.check_inventory.percent has to be at least 0"),
        ({"percent": True}, "$.check_inventory.percent has to be of type number"),
        ({"percent": 5, "segments": []}, "$.check_inventory may have percent or segments, not both"),
        ({"segments": {}}, "$.check_inventory.segments has to be of type array"),
        ({"segments": [{}]}, "$.check_inventory.segments[0] lacks name"),
        ({"segments": [{"name": "off"}]}, "$.check_inventory.segments[0].name may not be one of on, off, none, other"),
        ({"segments": [{"name": "a\n"}]}, "$.check_inventory.segments[0].name has to look like"),
        ({"segments": [{"name": "a"}] * 21}, "$.check_inventory.segments has more than 20 items"),
        ({"segments": [{"name": "a", "conditions": [{**IN, "operator": "is"}]}]}, ".operator has to be one of in, not_in"),
        ({"segments": [{"name": "a", "conditions": [{**IN, "property": "x"}]}]}, "has to be one of user, principal, client"),
        ({"segments": [{"name": "a", "conditions": [{**IN, "property": "principal"}]}]}, "one of anonymous, stated, agent"),
        ({"segments": [{"name": "a", "conditions": [{**IN, "value": []}]}]}, ".conditions[0].value is empty"),
        ({"segments": [{"name": "a", "conditions": [{**IN, "value": [""]}]}]}, ".conditions[0].value[0] is empty"),
        ({"segments": [{"name": "a", "conditions": [{**IN, "value": [SECRET * 99]}]}]}, "has more than 255 characters"),
        ({"segments": [{"name": "a", "conditions": [{**IN, "extra": 1}]}]}, "has 'extra'; there are property, operator, value"),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_flag_is_refused_by_its_path_without_its_value(flag: Any, told: str) -> None:
    """The error is one line."""
    line = why_not(flag)
    assert told in line
    assert "\n" not in line
    assert len(line) < 200
    assert SECRET not in line


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5) | st.sampled_from(["in", "user", "on"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["enabled", "percent", "segments", "name", "check_inventory", "\n"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(ANY_JSON)
def test_any_document_is_taken_whole_or_refused_in_one_line(value: Any) -> None:
    content = json.dumps(value).encode()
    if Draft202012Validator(json.loads(SCHEMA.read_text("utf-8"))).is_valid(value):
        assert set(parse(content).flags) == set(value)
    else:
        line = why(content)
        assert "\n" not in line
        assert len(line) < 250


def test_example_document_of_the_guide_is_valid() -> None:
    """The guide also names every fact that a condition may use."""
    guide = (ROOT / "infra/docs/settings.md").read_text("utf-8").partition("## Flags")[2]
    (example,) = re.findall(r"```json\n(.*?)```", guide, re.DOTALL)
    assert set(parse(example.encode()).flags) == {"get_recommendations", "check_inventory", "preview_manga_pages"}
    asked = json.loads(SCHEMA.read_text("utf-8"))["$defs"]["condition"]["properties"]["property"]["enum"]
    assert re.findall(r"^\| `(\w+)` \|", guide, re.MULTILINE) == asked


def test_reload_word_is_no_flag() -> None:
    document = parsed(check_inventory=True, **{"$reload": "2026-11-22"})
    assert (document.reload, list(document.flags)) == ("2026-11-22", ["check_inventory"])
    assert document != parsed(check_inventory=True, **{"$reload": "2026-11-23"})
    assert parsed(check_inventory=True).reload is None
    assert "$['$reload'] has to be of type string" in why(b'{"$reload": true}')
    assert "has more than 200 characters" in why(json.dumps({"$reload": "x" * 201}).encode())


def test_schema_of_flags_is_valid_and_every_property_in_it_can_be_evaluated() -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    for about in schema["$defs"]["condition"]["properties"]["property"]["enum"]:
        assert isinstance(caller_values(about, Principal(user="u")), frozenset)
