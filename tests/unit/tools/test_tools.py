"""A sweep over every tool that there is, so that a new one is covered by itself; and what the design says of each."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator, SchemaError

from server.transport.tool_listing import listed_tool
from tests.support.examples import defaults, least_arguments, least_result
from tests.support.pipeline import COMPILED, registered
from tools.contract import TEXT, CachePolicy, Tool
from tools.registry import TOOLS, Registry
from tools.schema.parts import NOTE
from tools.store.failures import InvalidArguments

EVERY_TOOL = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)

# Timeout in ms, seconds fresh, kept per user, the fallback's name: the table of the design's section 5.
TABLE = {
    "search_manga_catalog": (800, 300, False, "cached_popular_manga"),
    "get_manga_details": (300, 300, False, "last_known_details"),
    "check_inventory": (200, None, None, "cached_inventory_snapshot"),
    "get_recommendations": (1000, 60, True, "cached_trending_manga"),
    "lookup_order": (300, None, None, None),
}
DESIGNED = pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.name in TABLE], ids=lambda tool: tool.name)


def test_the_tools_and_their_order_are_the_designs() -> None:
    """Others may stand between and after them."""
    assert [tool.name for tool in TOOLS if tool.name in TABLE] == list(TABLE)


@DESIGNED
def test_time_cache_and_fallback_are_the_designs(tool: Tool) -> None:
    cache = (tool.cache.fresh_seconds, tool.cache.per_user) if tool.cache else (None, None)
    assert (tool.timeout_ms, *cache, tool.fallback.name if tool.fallback else None) == TABLE[tool.name]
    if tool.cache and not tool.cache.per_user:
        assert tool.cache.stale_seconds == 86_400


@EVERY_TOOL
def test_orders_and_only_orders_are_personal(tool: Tool) -> None:
    assert tool.personal is (tool.name == "lookup_order")
    assert not (tool.personal and (tool.cache or tool.fallback or tool.remembered))


@EVERY_TOOL
def test_schemas_are_schemas_and_json(tool: Tool) -> None:
    for schema in (tool.input_schema, tool.output_schema):
        Draft202012Validator.check_schema(schema)
        assert json.loads(json.dumps(schema)) == schema


@EVERY_TOOL
def test_arguments_that_it_does_not_name_are_refused(tool: Tool) -> None:
    assert tool.input_schema["type"] == "object"
    assert tool.input_schema["additionalProperties"] is False
    with pytest.raises(InvalidArguments, match="no argument 'surprise'"):
        validated(tool, {**least_arguments(tool), "surprise": 1})


@EVERY_TOOL
def test_every_argument_is_described_and_bounded(tool: Tool) -> None:
    for name, rule in tool.input_schema["properties"].items():
        assert rule["description"].endswith("."), name
        bound = {
            "string": {"maxLength", "pattern", "enum"},
            "array": {"maxItems"},
            "integer": {"maximum"},
            "number": {"maximum"},
        }
        assert bound[rule["type"]] & set(rule), f"{name} has no bound"
        if rule["type"] == "array":
            assert bound["string"] & set(rule["items"]), f"items of {name} have no bound"


@EVERY_TOOL
def test_its_output_schema_admits_a_result_or_the_error_envelope(tool: Tool) -> None:
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
def test_its_texts_say_what_and_when(tool: Tool) -> None:
    assert tool.title
    assert 100 < len(tool.description) < 600
    assert tool.description.endswith(".")
    assert any(word in tool.description for word in ("Use it", "Needs", "Without", "only")), (
        "when to use it, or what it needs"
    )
    assert tool.instead.endswith(".")
    assert tool.instead != Tool.instead, "what to do while it is switched off"


@EVERY_TOOL
def test_its_hints_are_those_of_a_reader(tool: Tool) -> None:
    assert tool.annotations == {
        "title": tool.title,
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    assert tool.scope == f"mcp:manga-tools:{tool.name}"
    assert tool.flag == tool.name


@EVERY_TOOL
def test_what_history_remembers_are_arguments_that_exist_and_no_free_text(tool: Tool) -> None:
    properties = tool.input_schema["properties"]
    for name in tool.remembered:
        rule = properties[name]
        assert "maxLength" not in rule, f"{name} is free text"
        assert name != "user_id"


@EVERY_TOOL
def test_defaults_are_applied_and_satisfy_their_own_rules(tool: Tool) -> None:
    assert validated(tool, least_arguments(tool)) == {**defaults(tool), **least_arguments(tool)}
    for rule in tool.input_schema["properties"].values():
        if "default" in rule:
            Draft202012Validator(rule).validate(rule["default"])


@EVERY_TOOL
def test_defaults_of_one_call_are_not_the_next_ones(tool: Tool) -> None:
    first = validated(tool, least_arguments(tool))
    first.clear()
    assert validated(tool, least_arguments(tool)) == {**defaults(tool), **least_arguments(tool)}


@EVERY_TOOL
def test_it_is_listed_with_everything_that_a_client_needs(tool: Tool) -> None:
    listed = listed_tool(tool)
    assert set(listed) == {"name", "title", "description", "inputSchema", "outputSchema", "annotations"}
    assert all(listed.values())


@EVERY_TOOL
def test_summaries_are_short_and_need_no_more_than_a_result(tool: Tool) -> None:
    assert 0 < len(tool.summary(least_result(tool))) < 60


def validated(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    return registered(tool.name).validator.validated(arguments)


# -- the registry


def test_a_name_is_found_exactly_and_near_ones_are_offered() -> None:
    assert COMPILED.get("check_inventory") is not None
    assert COMPILED.get("Check_Inventory") is None
    assert COMPILED.nearest("check_inventry")[0] == "check_inventory"
    assert COMPILED.nearest("?" * 10_000) == [tool.name for tool in TOOLS]


def test_two_tools_of_one_name_and_a_schema_that_is_none_stop_the_start() -> None:
    with pytest.raises(ValueError, match="same name"):
        Registry([TOOLS[2], TOOLS[2]])
    with pytest.raises(SchemaError):
        Registry([replace(TOOLS[2], input_schema={**TOOLS[2].input_schema, "type": "nonsense"})])


# -- validation


def violations(name: str, arguments: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(InvalidArguments) as caught:
        validated(registered(name).tool, arguments)
    assert all(each.message and each.fix for each in caught.value.violations)
    return [(each.path, each.rule) for each in caught.value.violations]


def test_every_violation_is_told_at_once_with_its_path_and_rule() -> None:
    arguments = {"max_results": 99, "genre": "horror", "min_rating": "high", "colour": 1, "author": "x" * 201}
    assert violations("search_manga_catalog", arguments) == [
        ("$.author", "maxLength"),
        ("$.colour", "additionalProperties"),
        ("$.genre", "enum"),
        ("$.max_results", "maximum"),
        ("$.min_rating", "type"),
        ("$.query", "required"),
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("search_manga_catalog", {"query": ""}, [("$.query", "minLength")]),
        ("search_manga_catalog", {"query": "\u200b\x00"}, [("$.query", "minLength")]),
        ("search_manga_catalog", {"query": "x", "max_results": 0}, [("$.max_results", "minimum")]),
        ("search_manga_catalog", {"query": "x", "max_results": True}, [("$.max_results", "type")]),
        ("check_inventory", {"title_ids": ["manga-000001"] * 21}, [("$.title_ids", "maxItems")]),
        ("check_inventory", {"title_ids": ["manga-000001", "-x", 5]}, [("$.title_ids[1]", "pattern"), ("$.title_ids[2]", "type")]),
        ("check_inventory", {"title_ids": ["manga-000001"], "result_set": "rs_" + "a" * 16}, [("$", "not")]),
        ("get_manga_details", {"title_id": "manga-000001\n"}, [("$.title_id", "pattern")]),
        ("get_manga_details", {"title_id": "manga/000001"}, [("$.title_id", "pattern")]),
    ],
)  # fmt: skip
def test_each_rule_is_named(name: str, arguments: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert violations(name, arguments) == expected


def test_text_is_normalised_and_free_of_what_cannot_be_seen() -> None:
    asked = validated(TOOLS[0], {"query": "\u202eＯｎｅ\u200b Ｐiece\x07 ｶﾞ", "max_results": 3.0})
    assert asked["query"] == "One Piece ガ"
    assert (asked["max_results"], type(asked["max_results"])) == (3, int)


def test_what_an_invisible_character_kept_apart_is_composed() -> None:
    assert validated(TOOLS[0], {"query": "cafe\u200b\u0301"})["query"] == "café"


def test_the_operators_freshness_is_that_of_text_about_titles_and_of_nothing_else() -> None:
    """By what a result is, and not by a number that happens to be the same."""
    chosen = {tool.name for tool in TOOLS if tool.cache and tool.cache.text}
    assert chosen == {"search_manga_catalog", "get_manga_details"}
    assert TEXT.with_text_fresh_for(7) == CachePolicy(7, 86_400, text=True)
    assert TEXT.with_text_fresh_for(100_000) == CachePolicy(100_000, 100_000, text=True)
    same_number = CachePolicy(300, 86_400)
    assert same_number.with_text_fresh_for(7) is same_number


# -- how a refusal helps


def fix_of(name: str, arguments: dict[str, Any]) -> str:
    with pytest.raises(InvalidArguments) as caught:
        validated(registered(name).tool, arguments)
    return caught.value.violations[0].fix


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("search_manga_catalog", {"query": "x", "auther": "Oda"}, "did you mean author?"),
        ("search_manga_catalog", {"query": "x", "maxResults": 3}, "did you mean max_results?"),
        ("search_manga_catalog", {"query": "x", "minimum_rating": 3}, "did you mean min_rating?"),
        ("check_inventory", {"title_id": "manga-000001"}, "did you mean title_ids?"),
        ("get_recommendations", {"criteria": "x", "exclude": []}, "did you mean exclude_titles?"),
        ("search_manga_catalog", {"query": "x", "genre": "horror"}, "belongs into query"),
        ("get_manga_details", {"title_id": "One Piece"}, "call search_manga_catalog first"),
        ("check_inventory", {"title_ids": ["manga-000001", "One Piece"]}, "call search_manga_catalog first"),
        ("check_inventory", {"result_set": "the last one"}, "as it was given"),
        ("lookup_order", {"order_id": "the manga one"}, "ask the customer"),
    ],
)
def test_a_refusal_says_what_was_probably_meant(name: str, arguments: dict[str, Any], said: str) -> None:
    assert said in fix_of(name, arguments)


def test_a_name_that_is_near_none_is_not_guessed_at_and_many_cost_no_more_than_a_few() -> None:
    assert "did you mean" not in fix_of("search_manga_catalog", {"query": "x", "zzzz": 1})
    with pytest.raises(InvalidArguments) as caught:
        validated(registered("search_manga_catalog").tool, {"query": "x", **{f"author{n}": 1 for n in range(200)}})
    assert sum("did you mean" in each.fix for each in caught.value.violations) == 5


def test_a_guess_at_a_name_is_never_who_calls() -> None:
    assert "did you mean" not in fix_of("get_recommendations", {"criteria": "x", "query": "x"})


@EVERY_TOOL
@pytest.mark.parametrize("nothing", [None, ""])
def test_an_optional_argument_that_says_nothing_is_one_that_was_left_out(tool: Tool, nothing: str | None) -> None:
    least = least_arguments(tool)
    optional = dict.fromkeys(tool.input_schema["properties"].keys() - least.keys(), nothing)
    assert validated(tool, {**least, **optional}) == validated(tool, least)


@EVERY_TOOL
def test_an_argument_that_is_needed_has_to_say_something(tool: Tool) -> None:
    for name in tool.input_schema["required"]:
        with pytest.raises(InvalidArguments):
            validated(tool, {**least_arguments(tool), name: None})


@EVERY_TOOL
@pytest.mark.parametrize(
    "name", ["session_id", "sessionId", "X-Session-ID", "turn_id", "turnId", "conversation_id", "customer_id", "userToken"]
)
def test_who_calls_is_no_argument_and_no_reason_to_refuse(tool: Tool, name: str) -> None:
    arguments = {**least_arguments(tool), name: {"any": ["value"]}}
    assert validated(tool, arguments) == validated(tool, least_arguments(tool))
    assert registered(tool.name).validator.ignored(arguments) == [name]


@EVERY_TOOL
def test_an_argument_that_a_tool_has_is_never_ignored(tool: Tool) -> None:
    assert registered(tool.name).validator.ignored(tool.input_schema["properties"]) == []


@pytest.mark.parametrize(
    "said",
    ["MNG-DEMO1001", "mng-demo1001", "DEMO1001", "demo1001", " MNG DEMO 1001 ", "#MNG-DEMO1001", "MNGDEMO1001", "ＭＮＧ－ＤＥＭＯ１００１",
     "ＭＮＧーＤＥＭＯ１００１", "MNG\u2010DEMO1001", "mng_demo1001", "MNG\u3000DEMO1001"],
)  # fmt: skip
def test_an_order_number_counts_however_it_was_said(said: str) -> None:
    assert validated(registered("lookup_order").tool, {"order_id": said}) == {"order_id": "MNG-DEMO1001"}


@pytest.mark.parametrize(
    ("said", "meant"), [("Seinen", "seinen"), ("shounen", "shonen"), ("Shōjo", "shojo"), ("少女漫画", "shojo"), ("", "")]
)
def test_a_readership_counts_however_it_is_spelled(said: str, meant: str) -> None:
    assert validated(registered("search_manga_catalog").tool, {"query": "x", "genre": said})["genre"] == meant


def test_a_number_that_begins_like_the_prefix_is_not_taken_for_it() -> None:
    for said, meant in (("MNGA0001", "MNG-MNGA0001"), ("mng-mnga0001", "MNG-MNGA0001")):
        assert validated(registered("lookup_order").tool, {"order_id": said}) == {"order_id": meant}


@pytest.mark.parametrize(
    "said", ["MNG-", "MNG-DEMO100", "MNG-DEMO10011", "ABC-DEMO1001", "MNG-DEMO1001\n", "MNG-DEMO100é", "no number"]
)
def test_what_is_no_order_number_is_still_refused(said: str) -> None:
    assert violations("lookup_order", {"order_id": said}) == [("$.order_id", "pattern")]


def test_no_titles_are_no_argument() -> None:
    """A model that fills in every field means the last search."""
    check = registered("check_inventory").tool
    assert validated(check, {"title_ids": [], "result_set": "rs_" + "a" * 16})["result_set"]
    assert violations("check_inventory", {"title_ids": ["manga-000001"], "result_set": "rs_" + "a" * 16}) == [("$", "not")]
