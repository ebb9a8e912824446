"""The quick check of results: a value that passes is safe to use, and every tool's answer passes."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.support.cases import cases
from tools.registry import Registry
from tools.schema.parts import INTEGER, STRING, answer, list_of, nullable, record
from tools.schema.validation import compile_success_check

CARD = record(
    {"id": STRING, "n": nullable("integer"), "tags": list_of(STRING), "kind": {"type": "string", "enum": ["a"]}}, ["id"]
)
SCHEMA = answer({"cards": list_of(CARD), "total": INTEGER, "extra": {"type": "object"}, "any": {}}, ["cards", "total"])
REGISTRY = Registry()


@cases(
    ("value", "fits"),
    [
        ({"cards": [], "total": 0}, True),
        ({"cards": [{"id": "x"}], "total": 1, "unheard": 1, "extra": {}, "any": [1]}, True),
        ({"cards": [{"id": "x", "n": None, "tags": ["t"], "kind": "a"}, {"id": "y", "n": 3}], "total": 2}, True),
        ({}, False),
        ([], False),
        (None, False),
        ({"error": {"code": 1, "name": "x", "message": "y", "data": {}}}, False),
        ({"cards": [], "total": "0"}, False),
        ({"cards": [], "total": True}, False),
        ({"cards": {}, "total": 1}, False),
        ({"cards": [{}], "total": 1}, False),
        ({"cards": [{"id": "x"}, None], "total": 1}, False),
        ({"cards": [{"id": "x", "n": "1"}], "total": 1}, False),
        ({"cards": [{"id": "x", "tags": [1]}], "total": 1}, False),
        ({"cards": [{"id": "x", "tags": None}], "total": 1}, False),
        ({"cards": [{"id": "x", "kind": "b"}], "total": 1}, False),
        ({"cards": [], "total": 1, "extra": []}, False),
    ],
)
def test_success_check_requires_the_fields_and_types_of_the_schema(value: Any, fits: bool) -> None:
    assert compile_success_check(SCHEMA)(value) is fits


def test_shape_check_needs_one_matching_branch_of_any_of() -> None:
    either = compile_success_check(answer({"one": {"anyOf": [record({"a": STRING}, ["a"]), {"type": "null"}]}}, ["one"]))
    assert [either({"one": value}) for value in ({"a": "x"}, None, {"a": 1}, {}, 5)] == [True, True, False, False, False]
    branches = [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}]
    both = compile_success_check(answer({"one": {"type": "object", "anyOf": branches}}, ["one"]))
    assert [both({"one": value}) for value in ({"a": 1}, {"b": 1}, {}, [])] == [True, True, False, False]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.sampled_from(["a", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["cards", "total", "id", "n", "tags", "kind", "extra"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_value_valid_by_the_validator_passes_the_success_check(value: Any) -> None:
    """The exception is 1.0, an integer to JSON Schema that no tool writes."""
    strict = {**SCHEMA, "anyOf": SCHEMA["anyOf"][:1]}
    if Draft202012Validator(strict).is_valid(value) and "." not in repr(value):
        assert compile_success_check(SCHEMA)(value)


def forms_of(registry: Registry) -> list[str]:
    return [registered.form for tool in registry if (registered := registry.get(tool.name))]


def test_every_tool_has_a_result_form_of_its_own_equal_in_every_process() -> None:
    forms = forms_of(REGISTRY)
    assert forms
    assert len(set(forms)) == len(forms)
    assert forms == forms_of(Registry()), "the same in every process"
