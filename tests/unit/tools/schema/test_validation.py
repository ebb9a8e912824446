"""Validation of arguments reports every violation at once, with its path, its rule and the remedy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.cases import cases
from tests.support.examples import least_arguments
from tests.support.pipeline import registered, registry_of
from tools.contract import TEXT, CachePolicy, Tool
from tools.registry import TOOLS
from tools.store.failures import InvalidArguments

EVERY_TOOL = cases("tool", TOOLS, ids=lambda tool: tool.name)


def validated(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    return registered(tool.name).validator.validate(arguments)


def violations(name: str, arguments: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(InvalidArguments) as caught:
        validated(registered(name).tool, arguments)
    assert all(each.message and each.fix for each in caught.value.violations)
    return [(each.path, each.rule) for each in caught.value.violations]


def test_every_violation_is_reported_at_once_with_path_and_rule() -> None:
    arguments = {"max_results": 99, "genre": "horror", "min_rating": "high", "colour": 1, "author": "x" * 201}
    assert violations("search_manga_catalog", arguments) == [
        ("$.author", "maxLength"),
        ("$.colour", "additionalProperties"),
        ("$.genre", "enum"),
        ("$.max_results", "maximum"),
        ("$.min_rating", "type"),
        ("$.query", "required"),
    ]


@cases(
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
        ("get_manga_details", {"title_id": "manga/0001"}, [("$.title_id", "pattern")]),
    ],
)  # fmt: skip
def test_violation_names_the_rule_of_the_schema(
    name: str, arguments: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert violations(name, arguments) == expected


def test_text_argument_is_normalised_and_free_of_invisible_characters() -> None:
    asked = validated(TOOLS[0], {"query": "\u202eＯｎｅ\u200b Ｐiece\x07 ｶﾞ", "max_results": 3.0})
    assert asked["query"] == "One Piece ガ"
    assert (asked["max_results"], type(asked["max_results"])) == (3, int)


def test_characters_separated_by_an_invisible_one_are_composed() -> None:
    assert validated(TOOLS[0], {"query": "cafe\u200b\u0301"})["query"] == "café"


def test_freshness_setting_applies_only_to_tools_with_text_about_titles() -> None:
    """It goes by the kind of result, and not by an equal lifetime."""
    chosen = {tool.name for tool in TOOLS if tool.cache and tool.cache.text}
    assert chosen >= {"search_manga_catalog", "get_manga_details"}
    assert "get_recommendations" not in chosen
    assert set_fresh(TEXT, 7) == CachePolicy(7, 86_400, text=True)
    assert set_fresh(TEXT, 100_000) == CachePolicy(100_000, 100_000, text=True)
    same_number = CachePolicy(300, 86_400)
    assert set_fresh(same_number, 7) is same_number


def set_fresh(cache: CachePolicy, seconds: int) -> CachePolicy | None:
    (tool,) = registry_of([replace(TOOLS[0], cache=cache)], text_fresh_seconds=seconds)
    return tool.cache


def fix_of(name: str, arguments: dict[str, Any]) -> str:
    with pytest.raises(InvalidArguments) as caught:
        validated(registered(name).tool, arguments)
    return caught.value.violations[0].fix


@cases(
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
def test_refusal_suggests_what_was_probably_meant(name: str, arguments: dict[str, Any], said: str) -> None:
    assert said in fix_of(name, arguments)


def test_unknown_argument_name_gets_a_suggestion_only_if_near_and_five_at_most() -> None:
    assert "did you mean" not in fix_of("search_manga_catalog", {"query": "x", "zzzz": 1})
    with pytest.raises(InvalidArguments) as caught:
        validated(registered("search_manga_catalog").tool, {"query": "x", **{f"author{n}": 1 for n in range(200)}})
    assert sum("did you mean" in each.fix for each in caught.value.violations) == 5
    assert len(caught.value.violations) == 100


def test_suggested_argument_name_is_never_an_identity() -> None:
    assert "did you mean" not in fix_of("get_recommendations", {"criteria": "x", "query": "x"})


@EVERY_TOOL
@cases("nothing", [None, ""])
def test_empty_optional_argument_counts_as_left_out(tool: Tool, nothing: str | None) -> None:
    least = least_arguments(tool)
    optional = dict.fromkeys(tool.input_schema["properties"].keys() - least.keys(), nothing)
    assert validated(tool, {**least, **optional}) == validated(tool, least)


@EVERY_TOOL
def test_null_is_refused_for_a_required_argument(tool: Tool) -> None:
    for name in tool.input_schema["required"]:
        with pytest.raises(InvalidArguments):
            validated(tool, {**least_arguments(tool), name: None})


@EVERY_TOOL
@cases(
    "name", ["session_id", "sessionId", "X-Session-ID", "turn_id", "turnId", "conversation_id", "customer_id", "userToken"]
)
def test_identity_argument_is_ignored_and_not_refused(tool: Tool, name: str) -> None:
    arguments = {**least_arguments(tool), name: {"any": ["value"]}}
    assert validated(tool, arguments) == validated(tool, least_arguments(tool))
    assert registered(tool.name).validator.list_ignored(arguments) == [name]


@EVERY_TOOL
def test_declared_argument_is_never_ignored(tool: Tool) -> None:
    assert registered(tool.name).validator.list_ignored(tool.input_schema["properties"]) == []


@cases(
    "said",
    ["MNG-DEMO1001", "mng-demo1001", "DEMO1001", "demo1001", " MNG DEMO 1001 ", "#MNG-DEMO1001", "MNGDEMO1001", "ＭＮＧ－ＤＥＭＯ１００１",
     "ＭＮＧーＤＥＭＯ１００１", "MNG\u2010DEMO1001", "mng_demo1001", "MNG\u3000DEMO1001"],
)  # fmt: skip
def test_order_number_is_accepted_in_common_spellings(said: str) -> None:
    assert validated(registered("lookup_order").tool, {"order_id": said}) == {"order_id": "MNG-DEMO1001"}


@cases(("said", "meant"), [("Seinen", "seinen"), ("shounen", "shonen"), ("Shōjo", "shojo"), ("少女漫画", "shojo"), ("", "")])
def test_genre_is_accepted_in_common_spellings(said: str, meant: str) -> None:
    assert validated(registered("search_manga_catalog").tool, {"query": "x", "genre": said})["genre"] == meant


def test_order_number_that_begins_like_its_prefix_is_kept() -> None:
    for said, meant in (("MNGA0001", "MNG-MNGA0001"), ("mng-mnga0001", "MNG-MNGA0001")):
        assert validated(registered("lookup_order").tool, {"order_id": said}) == {"order_id": meant}


@cases("said", ["MNG-", "MNG-DEMO100", "MNG-DEMO10011", "ABC-DEMO1001", "MNG-DEMO1001\n", "MNG-DEMO100é", "no number"])
def test_malformed_order_number_is_refused(said: str) -> None:
    assert violations("lookup_order", {"order_id": said}) == [("$.order_id", "pattern")]


def test_empty_list_of_titles_counts_as_no_argument() -> None:
    """A model that fills in every field means the last search."""
    check = registered("check_inventory").tool
    assert validated(check, {"title_ids": [], "result_set": "rs_" + "a" * 16})["result_set"]
    assert violations("check_inventory", {"title_ids": ["manga-000001"], "result_set": "rs_" + "a" * 16}) == [("$", "not")]
