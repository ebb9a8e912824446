"""The quick check of arguments never passes invalid ones, and passes common ones."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.support.cases import cases
from tools.contract import Tool
from tools.registry import TOOLS
from tools.schema.validation import compile_quick_check

COMMON: dict[str, dict[str, Any]] = {
    "search_manga_catalog": {"query": "dark fantasy with demons", "max_results": 5},
    "get_manga_details": {"title_id": "manga-001001"},
    "check_inventory": {"title_ids": ["manga-001001"]},
    "lookup_order": {"order_id": "MNG-AAAA0001"},
    "find_volumes": {"format": "digital"},
}
TEXTS = st.text(max_size=12) | st.sampled_from(["manga-001001", "MNG-AAAA0001", "ja", "en", "x" * 600, "a\n", ""])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3_000) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=25) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=30,
)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@given(data=st.data())
def test_arguments_that_pass_the_quick_check_are_valid(tool: Tool, data: st.DataObject) -> None:
    names = st.sampled_from([*tool.input_schema["properties"], "unheard"])
    arguments = data.draw(st.dictionaries(names, VALUES, max_size=4))
    if compile_quick_check(tool.input_schema)(arguments):
        Draft202012Validator(tool.input_schema).validate(arguments)


@cases(("name", "arguments"), COMMON.items())
def test_common_arguments_pass_the_quick_check(name: str, arguments: dict[str, Any]) -> None:
    schema = next(tool.input_schema for tool in TOOLS if tool.name == name)
    assert compile_quick_check(schema)(arguments)


@cases(
    ("schema", "value"),
    [
        ({"type": "string", "format": "date"}, "2026-11-23"),
        ({"type": ["string", "null"]}, "x"),
        ({"type": "object", "properties": {}}, {}),
        ({"anyOf": [{"type": "string"}]}, "x"),
        ({"type": "integer", "enum": [1]}, True),
        ({"type": "integer"}, 1.0),
        ({"type": "array", "items": {"type": "boolean"}, "enum": [[1]]}, [True]),
        ({"type": "array", "items": False}, [1]),
        ({"type": "object", "properties": {"a": True}, "additionalProperties": False}, {"a": 1}),
        ({"type": "string", "pattern": "^a$"}, "a\n"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 1}, ["a", "b"]),
        ({"type": "array", "items": {"type": "string"}}, ("a",)),
        ({"type": "object", "additionalProperties": False}, MappingProxyType({})),
        ({"type": "object", "properties": {}, "additionalProperties": True}, {}),
        ({"type": "object", "required": ["a"], "additionalProperties": False}, {}),
        ({"type": "string"}, b"a"),
        ({"type": "number"}, 1),
        ({"type": "null"}, None),
        ({"type": "boolean"}, 1),
        ({"type": "boolean", "enum": [1]}, True),
    ],
)
def test_quick_check_refuses_what_it_cannot_judge(schema: dict[str, Any], value: Any) -> None:
    assert not compile_quick_check(schema)(value)
