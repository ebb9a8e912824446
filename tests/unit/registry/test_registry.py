"""The tool registry: exact and near names, versions, and refusals with their reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.cases import cases
from tests.support.pipeline import COMPILED, registry_of
from tools.contract import TEXT, Tool
from tools.registry import TOOLS, Registry, ToolRefused
from tools.schema.parts import answer, arguments

STOCK = TOOLS[2]
NAMES = [tool.name for tool in TOOLS]
LATER = replace(STOCK, name="zz_later", cache=TEXT, reads=())
SOONER = replace(STOCK, name="aa_sooner")


def form(registry: Registry, name: str) -> str:
    found = registry.get(name)
    assert found is not None
    return found.form


def test_tool_name_is_matched_exactly_and_near_names_are_suggested() -> None:
    assert COMPILED.get("check_inventory") is not None
    assert COMPILED.get("Check_Inventory") is None
    assert COMPILED.nearest("check_inventry")[0] == "check_inventory"
    assert COMPILED.nearest("?" * 10_000) == []
    assert COMPILED.nearest("check_inventry", {"lookup_order"}) == []


def test_at_most_three_near_names_are_suggested() -> None:
    registry = registry_of([replace(STOCK, name=f"check_stock_{n}") for n in range(30)])
    assert len(registry.nearest("check_stock")) == 3


def test_later_tools_are_listed_by_name_behind_the_built_in_ones() -> None:
    registry = registry_of(TOOLS)
    for tool in (LATER, SOONER):
        registry.register(tool, "1")
    assert [tool.name for tool in registry] == [*NAMES, "aa_sooner", "zz_later"]
    registry.exchange({}, ["check_inventory"])
    assert "check_inventory" not in [tool.name for tool in registry]
    registry.register(STOCK)
    assert [tool.name for tool in registry] == [*NAMES, "aa_sooner", "zz_later"], "back in its place"


def test_withdrawn_tool_is_still_found_but_not_suggested() -> None:
    registry = registry_of([STOCK, TOOLS[0]])
    registry.exchange({}, [STOCK.name])
    found = registry.get(STOCK.name)
    assert found is not None
    assert found.tool.instead == STOCK.instead
    assert STOCK.name not in registry
    assert STOCK.name not in registry.nearest(STOCK.name)


def test_holder_of_a_tool_keeps_its_version_after_a_replacement() -> None:
    registry = registry_of([STOCK], version="1")
    held = registry.get(STOCK.name)
    registry.register(replace(STOCK, title="Another"), "2")
    now = registry.get(STOCK.name)
    assert held is not None
    assert now is not None
    assert (held.version, held.tool.title) == ("1", STOCK.title)
    assert (now.version, now.tool.title) == ("2", "Another")


def test_listener_is_told_of_every_change_of_the_registry() -> None:
    registry = registry_of([STOCK])
    told: list[list[str]] = []
    registry.on_change(lambda: told.append([tool.name for tool in registry]))
    registry.register(LATER, "1")
    registry.register(LATER, "2")
    registry.exchange({}, [STOCK.name])
    assert told == [[STOCK.name, "zz_later"], [STOCK.name, "zz_later"], ["zz_later"]]


def test_cache_keys_differ_by_version_schema_and_setting() -> None:
    registry = registry_of([STOCK], version="1")
    forms = {form(registry, STOCK.name), form(registry_of([STOCK], version="1", setting="off"), STOCK.name)}
    registry.register(STOCK, "2")
    forms.add(form(registry, STOCK.name))
    registry.register(replace(STOCK, output_schema=TOOLS[0].output_schema, sheds=None), "2")
    forms.add(form(registry, STOCK.name))
    assert len(forms) == 4
    registry.register(STOCK, "1")
    assert form(registry, STOCK.name) in forms, "an earlier version is what it was, in every process"


def test_operator_settings_apply_to_tools_registered_later() -> None:
    one, other = (registry_of([STOCK], version="1", setting=setting, text_fresh_seconds=7) for setting in ("off", "on"))
    for registry in (one, other):
        registry.register(LATER)
    found = one.get("zz_later")
    assert found is not None
    assert found.tool.cache is not None
    assert (found.version, found.tool.cache.fresh_seconds) == ("1", 7)
    assert form(one, "zz_later") != form(other, "zz_later")


MADE_ANSWER = answer({"n": {"type": "integer"}}, required=["n"])
PROPERTIES = MADE_ANSWER["properties"]
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a name with a blank": ({"name": "count volumes"}, "'count volumes' is no name of a tool: take 1 to 64 letters"),
    "a name that is too long": ({"name": "a" * 65}, "is no name of a tool"),
    "a name that begins with a digit": ({"name": "1st"}, "is no name of a tool"),
    "a name that is no text": ({"name": 5}, "is no name of a tool"),
    "no description": ({"description": " "}, "its description is no text"),
    "a handler that is none": ({"handler": None}, "its handler cannot be called"),
    "no time": ({"timeout_ms": 0}, "its timeout_ms is no whole number of milliseconds"),
    "a description that nobody would read": ({"description": "a" * 2_001}, "its description has more than 2000 characters"),
    "a schema as large as a book": (
        {"input_schema": arguments({f"a{n}": {"type": "string"} for n in range(1_000)})}, "its input schema has more than 16384",
    ),
    "a policy that is none": ({"cache": 300}, "its cache is a int: give a CachePolicy, or None"),
    "a fallback that is a function": ({"fallback": len}, "its fallback is a builtin_function_or_method: give a Fallback"),
    "a check that is none": ({"check": "title_id"}, "its check cannot be called"),
    "seconds": ({"timeout_ms": 0.3}, "its timeout_ms is no whole number of milliseconds"),
    "a type that is none": ({"input_schema": arguments({"a": {"type": "text"}})}, r"\$\.properties\.a\.type 'text'"),
    "a pattern that is none": ({"input_schema": arguments({"a": {"type": "string", "pattern": "("}})}, "is no JSON Schema"),
    "a schema that is a list": ({"input_schema": []}, "its input schema is no JSON Schema"),
    "a tuple where lists are": ({"input_schema": {**arguments({"a": {}}), "required": ("a",)}}, "is no JSON Schema"),
    "a schema with a set in it": ({"input_schema": {"type": "object", "required": {"a"}}}, "its input schema is not JSON"),
    "arguments without properties": ({"input_schema": {"type": "object"}}, "of type object, with properties: make it with tools"),
    "arguments that are a list": ({"input_schema": {"type": "array"}}, "has to be of type object"),
    "a schema elsewhere": (
        {"input_schema": arguments({"a": {"$ref": "https://x.example/a"}})}, r"another document with \$ref",
    ),
    "an argument that is none": ({"remembered": ("nothing",)}, "'nothing', which is no argument"),
    "a result without the error": (
        {"output_schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}, "parts.answer",
    ),
    "a result that admits everything": (
        {"output_schema": {**MADE_ANSWER, "anyOf": [{"required": []}, {"required": ["error"]}]}}, "an empty result",
    ),
    "an error of another shape": (
        {"output_schema": {**MADE_ANSWER, "properties": {**PROPERTIES, "error": {"type": "string"}}}}, "the error envelope",
    ),
    "no room for a note": (
        {"output_schema": {**MADE_ANSWER, "properties": {**PROPERTIES, "note": {"type": "integer"}}}}, "without a note",
    ),
    "two types at once": (
        {"output_schema": answer({"n": {"type": ["integer", "null"]}}, ["n"])}, "one type at each place",
    ),
}  # fmt: skip


@cases(("changes", "reason"), BAD.values(), ids=BAD)
def test_malformed_tool_is_refused_with_the_reason(changes: dict[str, Any], reason: str) -> None:
    wrong: Tool = replace(LATER, **changes)
    with pytest.raises(ToolRefused, match=reason) as caught:
        COMPILED.compile_tool(wrong, "1", "a-package")
    assert "\n" not in str(caught.value)
    assert str(wrong.name)[:60] in str(caught.value)
