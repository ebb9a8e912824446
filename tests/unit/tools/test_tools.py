"""Every tool is checked, so that a new one is covered by itself; then what the design says of each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from server.results import compact
from server.transport.tool_listing import listed_tool
from tests.support.cases import cases
from tests.support.examples import defaults, least_arguments, least_result
from tests.support.pipeline import registered
from tools.contract import Effect, Tool
from tools.registry import TOOLS
from tools.schema.parts import NOTE
from tools.schema.problem import find_problem
from tools.store.failures import InvalidArguments

EVERY_TOOL = cases("tool", TOOLS, ids=lambda tool: tool.name)
# Timeout in ms, seconds fresh, kept per user, the fallback's name: the table of the design's section 5.
TABLE = {
    "search_manga_catalog": (800, 300, False, "cached_popular_manga"),
    "get_manga_details": (300, 300, False, "last_known_details"),
    "check_inventory": (200, None, None, "cached_inventory_snapshot"),
    "compare_prices": (300, None, None, "cached_inventory_snapshot"),
    "get_recommendations": (1000, 60, True, "cached_trending_manga"),
    "lookup_order": (300, None, None, None),
}
WRITES = {"remember_preference": Effect.ADDS, "forget_preference": Effect.REMOVES}
PERSONAL = {"lookup_order", *WRITES}
DESIGNED = cases("tool", [tool for tool in TOOLS if tool.name in TABLE], ids=lambda tool: tool.name)


def test_tools_stand_in_the_order_of_the_specification() -> None:
    """Other tools may stand between and after them."""
    assert [tool.name for tool in TOOLS if tool.name in TABLE] == list(TABLE)


@DESIGNED
def test_timeout_cache_and_fallback_of_each_tool_match_the_specification(tool: Tool) -> None:
    cache = (tool.cache.fresh_seconds, tool.cache.per_user) if tool.cache else (None, None)
    assert (tool.timeout_ms, *cache, tool.fallback.name if tool.fallback else None) == TABLE[tool.name]
    if tool.cache and not tool.cache.per_user:
        assert tool.cache.stale_seconds == 86_400


def test_no_two_tools_have_one_name() -> None:
    assert len({tool.name for tool in TOOLS}) == len(TOOLS)


@EVERY_TOOL
def test_the_shops_own_tools_keep_the_rules_for_tools_of_packages(tool: Tool) -> None:
    assert find_problem(tool) is None


@EVERY_TOOL
def test_only_order_and_preference_tools_are_personal(tool: Tool) -> None:
    assert tool.personal is (tool.name in PERSONAL)
    assert not (tool.personal and (tool.cache or tool.fallback or tool.remembered))


def test_tool_list_fits_into_24_kilobytes() -> None:
    """300 bytes are reserved for the envelope (`tests/wire/test_tool_lists.py` measures the answer itself)."""
    assert len(compact([listed_tool(tool) for tool in TOOLS]).encode()) <= 24_576 - 300


@EVERY_TOOL
def test_tool_schemas_are_valid_json_schemas(tool: Tool) -> None:
    for schema in (tool.input_schema, tool.output_schema):
        Draft202012Validator.check_schema(schema)
        assert json.loads(json.dumps(schema)) == schema


@EVERY_TOOL
def test_undeclared_arguments_are_refused(tool: Tool) -> None:
    assert tool.input_schema["type"] == "object"
    assert tool.input_schema["additionalProperties"] is False
    with pytest.raises(InvalidArguments, match="no argument 'surprise'"):
        validated(tool, {**least_arguments(tool), "surprise": 1})


@EVERY_TOOL
def test_every_argument_has_a_single_type(tool: Tool) -> None:
    """Some clients read no more than one type."""
    assert not any(word in json.dumps(tool.input_schema) for word in ("$ref", "anyOf", "oneOf", "allOf"))
    assert all(isinstance(rule["type"], str) for rule in tool.input_schema["properties"].values())


@EVERY_TOOL
def test_every_argument_is_described_and_bounded(tool: Tool) -> None:
    for name, rule in tool.input_schema["properties"].items():
        assert rule["description"].endswith("."), name
        bound = {
            "string": {"maxLength", "pattern", "enum"},
            "array": {"maxItems"},
            "integer": {"maximum"},
            "number": {"maximum"},
            "boolean": {"type"},
        }
        assert bound[rule["type"]] & set(rule), f"{name} has no bound"
        if rule.get("type") == "array":
            assert bound["string"] & set(rule["items"]), f"items of {name} have no bound"


@EVERY_TOOL
def test_output_schema_admits_a_result_or_the_error_envelope(tool: Tool) -> None:
    schema = tool.output_schema
    assert schema["type"] == "object"
    assert "error" in schema["properties"]
    success, error = schema["anyOf"]
    assert error == {"required": ["error"]}
    assert set(success["required"]) <= set(schema["properties"])
    assert success["required"]
    validator = Draft202012Validator(schema)
    data = {
        "tool": "x",
        "request_id": "x",
        "retryable": True,
        "retry_after_ms": None,
        "fallback_available": False,
        "details": {},
    }
    assert validator.is_valid({"error": {"code": 1, "name": "X", "message": "m", "data": data}})
    assert validator.is_valid({"error": {"code": 1, "name": "X", "message": "m", "data": data}, "note": "told"})
    assert schema["properties"]["note"] == NOTE, "what the model should know is part of every answer"
    assert not validator.is_valid({})
    assert not validator.is_valid({"error": {}})


@EVERY_TOOL
def test_description_states_what_the_tool_does_and_when_to_call_it(tool: Tool) -> None:
    assert tool.title
    assert 100 < len(tool.description) < 600
    assert tool.description.endswith(".")
    assert any(word in tool.description for word in ("Call it", "Without", "only")), "when to use it, or what it needs"
    assert tool.instead.endswith(".")
    assert tool.instead != Tool.instead, "what to do while it is switched off"


@EVERY_TOOL
def test_annotations_match_what_the_tool_does(tool: Tool) -> None:
    assert tool.effect is WRITES.get(tool.name, Effect.READS)
    assert tool.annotations == {
        "title": tool.title,
        "readOnlyHint": tool.name not in WRITES,
        "destructiveHint": WRITES.get(tool.name) is Effect.REMOVES,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    assert tool.scope == f"mcp:manga-tools:{tool.name}"


@EVERY_TOOL
def test_arguments_kept_in_history_exist_and_are_no_free_text(tool: Tool) -> None:
    properties = tool.input_schema["properties"]
    for name in tool.remembered:
        rule = properties[name]
        assert "maxLength" not in rule, f"{name} is free text"
        assert name != "user_id"


@EVERY_TOOL
def test_defaults_are_applied_and_valid_by_their_own_rules(tool: Tool) -> None:
    assert validated(tool, least_arguments(tool)) == {**defaults(tool), **least_arguments(tool)}
    for rule in tool.input_schema["properties"].values():
        if "default" in rule:
            Draft202012Validator(rule).validate(rule["default"])


@EVERY_TOOL
def test_defaults_of_one_call_do_not_change_those_of_the_next(tool: Tool) -> None:
    first = validated(tool, least_arguments(tool))
    first.clear()
    assert validated(tool, least_arguments(tool)) == {**defaults(tool), **least_arguments(tool)}


@EVERY_TOOL
def test_listed_tool_has_name_title_description_schemas_and_annotations(tool: Tool) -> None:
    listed = listed_tool(tool)
    assert set(listed) == {"name", "title", "description", "inputSchema", "outputSchema", "annotations"}
    assert all(listed.values())


@EVERY_TOOL
def test_summary_of_a_minimal_result_is_below_60_characters(tool: Tool) -> None:
    assert 0 < len(tool.summary(least_result(tool))) < 60


def validated(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    return registered(tool.name).validator.validate(arguments)
