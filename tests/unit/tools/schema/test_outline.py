"""The outline of a result schema in the tool list says less than the schema and never contradicts it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from server.transport.tool_listing import listed_tool, outline
from tests.support.cases import cases
from tests.support.examples import least_result
from tools.contract import Tool
from tools.registry import TOOLS
from tools.schema.parts import INTEGER, STRING, answer, list_of, nullable, record

PART = record({"x": INTEGER}, ["x"])
ROW = record({"id": STRING, "n": nullable("integer", "How many."), "parts": list_of(PART), "part": PART}, ["id"])
WHOLE = answer({"rows": list_of(ROW), "total": INTEGER, "row": ROW}, ["rows", "total"])
OUTLINED_ROW = {
    "type": "object",
    "properties": {
        "id": STRING,
        "n": nullable("integer", "How many."),
        "parts": {"type": "array", "items": {"type": "object"}},
        "part": {"type": "object"},
    },
}
EVERY_TOOL = cases("tool", TOOLS, ids=lambda tool: tool.name)


def test_outline_keeps_the_names_of_the_root_and_of_its_rows() -> None:
    told = outline(WHOLE)
    assert told["properties"]["rows"] == {"type": "array", "items": OUTLINED_ROW}
    assert told["properties"]["row"] == OUTLINED_ROW
    assert told["properties"]["total"] == INTEGER


def test_outline_keeps_the_required_fields_of_success_and_failure() -> None:
    assert outline(WHOLE)["anyOf"] == [{"required": ["rows", "total"]}, {"required": ["error"]}]


def test_outline_does_not_modify_the_schema() -> None:
    before = repr(WHOLE)
    outline(WHOLE)
    assert repr(WHOLE) == before


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["a", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["rows", "row", "total", "id", "n", "parts", "part", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)
VALID, VALID_OUTLINE = Draft202012Validator(WHOLE), Draft202012Validator(outline(WHOLE))


@given(
    st.fixed_dictionaries({"rows": JSON | st.just([]), "total": st.integers() | JSON}, optional={"row": JSON, "note": JSON})
)
def test_value_valid_by_the_schema_is_valid_by_its_outline(value: Any) -> None:
    assert VALID_OUTLINE.is_valid(value) or not VALID.is_valid(value)


@EVERY_TOOL
def test_listed_output_schema_has_every_root_field_and_requires_the_required_ones(tool: Tool) -> None:
    told = listed_tool(tool)["outputSchema"]
    assert told["properties"].keys() == tool.output_schema["properties"].keys()
    result, judge = least_result(tool), Draft202012Validator(told)
    assert judge.is_valid(result)
    for name in tool.output_schema["anyOf"][0]["required"]:
        assert not judge.is_valid({other: value for other, value in result.items() if other != name})
