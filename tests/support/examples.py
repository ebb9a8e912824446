"""Arguments and results of a tool made from its schemas, so that tests which go over all tools need not know any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.contract import Tool
from tools.schema import parts as schemas
from tools.store import identifiers

Schema = Mapping[str, Any]

OF_PATTERN = {
    identifiers.TITLE_ID: "manga-000001",
    identifiers.MONTH: "2026-11",
    identifiers.ORDER_ID: "MNG-UUUU0001",
    schemas.RESULT_SET: f"rs_{'a' * 16}",
}
"""What is there in the shelf of `tests.support.store`, by what the schemas say of it."""


def least_arguments(tool: Tool) -> dict[str, Any]:
    """The required ones alone. Raises LookupError for a rule that nothing here satisfies."""
    properties = tool.input_schema["properties"]
    return {name: _example(properties[name], "x") for name in tool.input_schema.get("required", ())}


def free_texts(tool: Tool, text: str) -> dict[str, Any]:
    """The least arguments, and `text` wherever a shopper's or a model's own words may stand."""
    properties = tool.input_schema["properties"]
    own = {name: _example(rule, text) for name, rule in properties.items() if _is_free(rule)}
    return {**least_arguments(tool), **own}


def least_result(tool: Tool) -> dict[str, Any]:
    """What its output schema asks of a success, and no more; the objects in it have all of their properties."""
    success = tool.output_schema["anyOf"][0]["required"]
    return {name: _example(tool.output_schema["properties"][name], "x") for name in success}


def defaults(tool: Tool) -> dict[str, Any]:
    return {name: rule["default"] for name, rule in tool.input_schema["properties"].items() if "default" in rule}


def _is_free(rule: Schema) -> bool:
    own = rule.get("items", rule)
    return own.get("type") == "string" and "enum" not in own and "pattern" not in own


def _example(rule: Schema, text: str) -> Any:
    """The least value that satisfies a rule."""
    if "enum" in rule:
        return rule["enum"][0]
    for branches in (rule.get("anyOf"), rule.get("oneOf")):
        if branches:
            return _example(branches[0], text)
    match rule["type"]:
        case "string":
            return OF_PATTERN[rule["pattern"]] if "pattern" in rule else text
        case "integer" | "number":
            return rule.get("minimum", 1)
        case "boolean":
            return False
        case "array":
            return [_example(rule["items"], text)] * max(1, rule.get("minItems", 1))
        case "object":
            return {name: _example(each, text) for name, each in rule.get("properties", {}).items()}
    raise LookupError(f"no example of {rule}")
