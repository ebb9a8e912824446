"""Arguments at the limits of validation, and the messages for those beyond."""

from __future__ import annotations

import json
import math
from types import MappingProxyType
from typing import Any

import pytest

from tests.support.cases import cases
from tools.schema.parts import arguments
from tools.schema.text import MOST_MARKS, limit_json, limit_marks
from tools.schema.validation import ArgumentsValidator, clean, clean_text, compile_success_check
from tools.store.failures import InvalidArguments, Violation

PROPERTIES: dict[str, Any] = {
    "text": {"type": "string", "minLength": 1, "maxLength": 5, "description": "What to look for. In any language"},
    "code": {"type": "string", "minLength": 3},
    "number": {"type": "integer", "minimum": 1, "maximum": 9, "default": 5},
    "ids": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
    "kind": {"enum": ["a", "b"]},
    "form": {"type": "string", "pattern": "^x+$"},
    "either": {"type": ["integer", "string"]},
    "several": {"anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["all", "none"]}]},
    "thing": {"type": "object"},
    "amount": {"type": "number"},
    "parts": {"type": "array", "uniqueItems": True, "contains": {"type": "integer"}},
    "fixed": {"const": 1},
}
KNOWN = ", ".join(PROPERTIES)
VALIDATOR = ArgumentsValidator(json.loads(json.dumps(arguments(PROPERTIES, ["text"]))))  # no word in it is that of the code


def violations(given: dict[str, Any], validator: ArgumentsValidator = VALIDATOR) -> list[tuple[str, str, str, str]]:
    with pytest.raises(InvalidArguments) as told:
        validator.validate(given)
    return [(each.path, each.rule, each.message, each.fix) for each in told.value.violations]


@cases(
    ("given", "told"),
    [
        ({"text": "123456"}, ("$.text", "maxLength", "the text has 6 characters, normalised to NFKC", "use at most 5")),
        ({"text": "\ufdfa"}, ("$.text", "maxLength", "the text has 18 characters, normalised to NFKC", "use at most 5")),
        ({"text": ""}, ("$.text", "minLength", "the text has 0 characters", "give some text")),
        ({"code": "12"}, ("$.code", "minLength", "the text has 2 characters", "use at least 3")),
        ({"number": 0}, ("$.number", "minimum", "0 is not allowed", "use at least 1")),
        ({"number": 10}, ("$.number", "maximum", "10 is not allowed", "use at most 9")),
        ({"number": "5"}, ("$.number", "type", '"5" is not of type integer', "give an integer")),
        ({"number": True}, ("$.number", "type", "true is not of type integer", "give an integer")),
        ({"amount": "1"}, ("$.amount", "type", '"1" is not of type number', "give a number")),
        ({"amount": False}, ("$.amount", "type", "false is not of type number", "give a number")),
        ({"amount": math.nan}, ("$.amount", "type", "NaN is not of type number", "give a number")),
        ({"amount": -math.inf}, ("$.amount", "type", "-Infinity is not of type number", "give a number")),
        ({"parts": [1, 1]}, ("$.parts", "uniqueItems", "[1, 1] is not allowed", "see the tool's schema, rule uniqueItems")),
        ({"parts": ["1"]}, ("$.parts", "contains", '["1"] is not allowed', "see the tool's schema, rule contains")),
        ({"fixed": 2}, ("$.fixed", "const", "2 is not allowed", "see the tool's schema, rule const")),
        ({"kind": "漫画"}, ("$.kind", "enum", '"漫画" is not allowed', 'use one of: "a", "b"')),
        ({"several": 0}, ("$.several", "anyOf", "0 is not allowed", 'give an integer or "all", "none"')),
        ({"form": 1}, ("$.form", "type", "1 is not of type string", "give a string")),
        ({"thing": 1}, ("$.thing", "type", "1 is not of type object", "give an object")),
        ({"ids": []}, ("$.ids", "minItems", "the list has 0 items", "give at least 1")),
        ({"ids": ["1", "2", "3"]}, ("$.ids", "maxItems", "the list has 3 items", "give at most 2")),
        ({"kind": "c"}, ("$.kind", "enum", '"c" is not allowed', 'use one of: "a", "b"')),
        ({"form": "y"}, ("$.form", "pattern", '"y" is not allowed', "use the form ^x+$")),
        ({"form": "x\n"}, ("$.form", "pattern", '"x\\n" is not allowed', "use the form ^x+$")),
        ({"either": []}, ("$.either", "type", "[] is not of type integer or string", "give an integer or string")),
    ],
)
def test_each_rule_reports_what_is_wrong_and_how_to_fix_it(given: dict[str, Any], told: tuple[str, ...]) -> None:
    assert violations({"text": "ok", **given}) == [told]


def test_missing_argument_is_reported_with_its_description() -> None:
    assert violations({}) == [("$.text", "required", "text is missing", "add it: What to look for")]
    bare = ArgumentsValidator(arguments({"a": {}, "b": {}}, ["a", "b"]))
    assert violations({}, bare) == [
        ("$.a", "required", "a is missing", "add it"),
        ("$.b", "required", "b is missing", "add it"),
    ]


def test_unknown_argument_is_reported_with_the_nearest_and_all_names() -> None:
    ((path, rule, message, fix),) = violations({"text": "ok", "txt": 1})
    assert (path, rule, message) == ("$.txt", "additionalProperties", "there is no argument 'txt'")
    assert fix == f"did you mean text? use only: {KNOWN}"
    assert [each[0] for each in violations({"text": "ok", "漫 画": 1})] == ['$["漫 画"]']
    ((path, _, _, fix),) = violations({"text": "ok", "q z!": 1})
    assert (path, fix) == ('$["q z!"]', f"use only: {KNOWN}")


def test_undeclared_argument_is_refused() -> None:
    own = ArgumentsValidator(arguments({"a": {}}))
    assert [each[:2] for each in violations({"a": 1, "b": 2}, own)] == [("$.b", "additionalProperties")]


def test_values_at_their_limits_are_accepted_and_defaults_added() -> None:
    given = {"text": "12345", "code": "123", "ids": ["1", "2"], "kind": "b", "form": "xx", "either": "a"}
    given |= {"amount": 0.5, "parts": [1], "fixed": 1, "several": 1, "thing": {}}
    assert VALIDATOR.validate({**given, "number": 9}) == {**given, "number": 9}
    assert VALIDATOR.validate({"text": "1", "ids": ["1"], "number": 1.0}) == {"text": "1", "ids": ["1"], "number": 1}
    assert VALIDATOR.validate({"text": "1"}) == {"text": "1", "number": 5}


def test_form_of_an_alternative_is_told_with_its_limits() -> None:
    several = {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 5}, {"type": "string", "maxLength": 0}]}
    validator = ArgumentsValidator(arguments({"a": several, "b": {"anyOf": [{"type": "number", "maximum": 0}]}}))
    assert [each[3] for each in violations({"a": 6, "b": 1}, validator)] == [
        "give an integer from 1 to 5 or a string",
        "give a number",
    ]


def test_spelling_is_normalised_in_texts_in_ids_of_lists_and_in_numbers_for_texts() -> None:
    word, number = {"type": "string", "pattern": "^[A-Z0-9]+$"}, {"type": "integer"}
    lists = {"ids": {"type": "array", "items": word}, "words": {"type": "array", "items": {"type": "string"}}}
    properties = {"word": word, "number": number, "flag": {"type": "boolean"}, **lists, "rows": {"type": "array"}}
    validator = ArgumentsValidator(
        json.loads(json.dumps(arguments(properties))), spelled=dict.fromkeys(properties, str.upper)
    )
    given = {"word": "ab", "number": 5, "flag": True, "ids": ["ab", "C1"], "words": ["ab"], "rows": ["ab"]}
    assert validator.validate(given) == {**given, "word": "AB", "ids": ["AB", "C1"]}
    assert validator.validate({"word": 12}) == {"word": "12"}
    assert validator.validate({"ids": []}) == {"ids": []}
    assert [each[:2] for each in violations({"word": True, "ids": ["a", 5]}, validator)] == [
        ("$.ids[1]", "type"),
        ("$.word", "type"),
    ]


def test_null_or_empty_text_omits_an_optional_argument_and_not_a_required_one() -> None:
    assert VALIDATOR.validate({"text": "1", "kind": None, "code": "", "number": None}) == {"text": "1", "number": 5}
    assert violations({"text": None}) == [("$.text", "type", "null is not of type string", "give a string")]


def test_identity_arguments_are_left_out_and_listed_as_ignored() -> None:
    given = {"text": "1", "X-Session-ID": "s", "user_id": "u", "userToken": "t"}
    assert VALIDATOR.validate(given) == {"text": "1", "number": 5}
    assert VALIDATOR.list_ignored(given) == ["X-Session-ID", "user_id", "userToken"]
    assert [each[0] for each in violations({"text": "1", "user id": "u"})] == ['$["user id"]']


def test_violations_of_the_tools_own_check_are_sorted_among_the_others() -> None:
    own = Violation("$.a", "own", "message", "fix")
    validator = ArgumentsValidator(arguments({"a": {}, "b": {"type": "string"}}), lambda given: [own] if given else [])
    assert [each[0] for each in violations({"b": 1}, validator)] == ["$.a", "$.b"]
    assert validator.validate({}) == {}


def test_long_value_is_echoed_by_its_first_sixty_characters() -> None:
    for length, echo in ((58, '"' + "y" * 58 + '"'), (59, '"' + "y" * 59 + "…")):
        ((_, _, message, _),) = violations({"text": "ok", "kind": "y" * length})
        assert message == f"{echo} is not allowed"
    ((path, _, message, _),) = violations({"text": "ok", "z" * 61: 1})
    assert (path, message) == ("$." + "z" * 60, f"there is no argument {'z' * 60!r}")


@cases(
    ("given", "most"),
    [
        (lambda n: {"ids": [1] * n}, 510),  # the argument itself is one, and another beside it
        (lambda n: {"ids": ["y" * 100] * n}, 255),  # a text counts one more for each hundred characters
        (lambda n: {"ids": ["y" * 99] * n}, 510),
        (lambda n: {"ids": ["y" * 9000] * n}, 12),  # no more than forty
        (lambda n: {"thing": {str(each): 1 for each in range(n)}}, 510),
        (lambda n: {"thing": {"y" * 100 + str(each): 1 for each in range(n)}}, 255),
        (lambda n: {"ids": [[[1] * n]]}, 508),
    ],
)
def test_number_of_values_checked_one_by_one_is_bounded(given: Any, most: int) -> None:
    def is_too_many(number: int) -> bool:
        try:
            VALIDATOR.validate({"text": "ok"} | given(number))
        except InvalidArguments as told:
            return [each.rule for each in told.violations] == ["maxProperties"]
        return False

    assert [is_too_many(number) for number in (1, most, most + 1, most * 100)] == [False, False, True, True]


def test_integral_floats_become_integers_and_huge_numbers_infinite() -> None:
    assert repr([clean(each) for each in (5.0, 5.5, -0.0, 7)]) == "[5, 5.5, 0, 7]"
    assert clean(2**1023 - 1) == 2**1023 - 1
    assert (clean(2**1023), clean(-(2**1023))) == (math.inf, -math.inf)
    assert clean({"a": [True, None]}) == {"a": [True, None]}


def test_nesting_beyond_32_levels_is_cut_off() -> None:
    def nested(depth: int) -> Any:
        return [nested(depth - 1)] if depth else [7]

    assert str(clean(nested(31))).count("[") == 32
    assert clean(nested(31)) == nested(31)
    assert "7" not in str(clean(nested(32)))
    assert "…" in str(clean(nested(32)))
    by_name: Any = 7
    for _ in range(40):
        by_name = {"a": by_name}
    assert str(clean(by_name)).count("{") == 32


def test_text_is_nfkc_normalised_up_to_4000_characters() -> None:
    assert clean_text("ｎａｒｕｔｏ\u200b") == "naruto"
    assert clean_text("ｎ" * 4000) == "n" * 4000
    assert clean_text("ｎ" * 4001) == "ｎ" * 4001
    assert clean({"ｋ": ["ｖ"]}) == {"k": ["v"]}


# -- text for a model


@cases("mark", ["\u0301", "\uff9e"])
def test_at_most_thirty_combining_marks_in_a_row_are_kept(mark: str) -> None:
    for marks, left in ((MOST_MARKS, 30), (31, 30), (32, 30), (500, 30)):
        assert limit_marks("a" + mark * marks + "b") == "a" + mark * left + "b"
    for seen in ("ab" + mark * 29 + "cd", "１" * 99, "…" * 99, "\u3000" * 99):
        assert limit_marks(seen) == seen
    assert limit_marks("a" * 31 + mark * 31) == "a" * 31 + mark * 30
    assert limit_marks("１" * 99 + mark * 31) == "１" * 99 + mark * 30
    twice = "a" + mark * 40 + "b" + mark * 40 + "c"
    assert limit_marks(twice) == "a" + mark * 30 + "b" + mark * 30 + "c"


def test_output_is_bounded_by_16_levels_4000_characters_and_500_items() -> None:
    def nested(depth: int) -> Any:
        return [nested(depth - 1)] if depth else ["x"]

    assert limit_json(nested(15)) == nested(15)
    assert "x" not in str(limit_json(nested(16)))
    by_name: Any = "x"
    for _ in range(16):
        by_name = {"a": by_name}
    assert limit_json(by_name) == by_name
    assert "x" not in str(limit_json({"a": by_name}))
    assert limit_json("é" * 4000) == "é" * 4000
    assert limit_json("é" * 4001) == "é" * 3999 + "…"
    assert (len(limit_json([0] * 500)), len(limit_json([0] * 501))) == (500, 500)


def test_hidden_characters_are_removed_from_field_names() -> None:
    assert limit_json({"a\u200bb": {"c\u202e": ["d\u200b", 1]}}) == {"ab": {"c": ["d", 1]}}


# -- the quick look

EITHER = {"anyOf": [{"required": ["b"]}, {"required": ["c"]}]}


@cases(
    ("schema", "fits", "does_not"),
    [
        ({"type": "integer"}, [0, -3], [True, 1.0, "1", None, []]),
        ({"type": "number"}, [0, 1.5], [True, "1", None]),
        ({"type": "string"}, ["", "a"], [b"a", 1, None]),
        ({"type": "boolean"}, [True, False], [0, 1, "true", None]),
        ({"type": "null"}, [None], [0, "", False]),
        ({"type": "array"}, [[], [1]], [(), {}, "a"]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, ["", None], [0, [], False]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "d"}, ["", None], [0]),
        ({"enum": ["a", None]}, ["a", None], ["b", 0]),
        ({"type": "string", "enum": ["a"]}, ["a"], ["b", 1]),
        ({"type": "array", "items": {"type": "string"}}, [[], ["a"]], [["a", 1], ("a",), "a", {}]),
        ({"type": "object"}, [{}, {"a": 1}], [[], "a", MappingProxyType({"a": 1})]),
        ({"type": "object", "required": ["a"]}, [{"a": 1}], [{}, [], {"b": 1}, MappingProxyType({"a": 1})]),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, [{}, {"a": ""}, {"b": 1}], [{"a": 1}, {"a": None}]),
        (
            {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {"type": "null"}}},
            [{}, {"a": [1]}, {"b": None}, {"a": [], "b": None}],
            [{"a": ["1"]}, {"a": [1], "b": 0}, {"a": 1}],
        ),
        ({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, [{"a": 1}, {"b": 1}], [{}, {"c": 1}]),
        (
            {"type": "object", "properties": {"a": {**EITHER, "type": "object", "description": "d"}}},
            [{"a": {"b": 1}}, {"a": {"c": 1}}, {}],
            [{"a": {}}, {"a": []}],
        ),
        (
            {"type": "object", "properties": {"a": {**EITHER, "type": "object", "description": "d", "properties": {}}}},
            [{"a": {"b": 1}}, {"a": {"c": 1}}, {}],
            [{"a": {}}, {"a": []}],
        ),
        ({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}, ["a", None], ["b", 1]),
        ({}, [1, "a", None, [], {}], []),
        ({"description": "anything"}, [1, None], []),
    ],
)
def test_shape_check_detects_values_of_another_shape(schema: Any, fits: list[Any], does_not: list[Any]) -> None:
    check = compile_success_check({"properties": {"one": schema}, "anyOf": [{"required": ["one"]}]})
    assert [check({"one": each}) for each in fits] == [True] * len(fits)
    assert [check({"one": each}) for each in does_not] == [False] * len(does_not)


def test_error_value_is_no_success_though_the_schema_admits_it() -> None:
    schema = {
        "properties": {"a": {"type": "string"}, "error": {"type": "object"}},
        "anyOf": [{"required": ["a"]}, {"required": ["error"]}],
    }
    check = compile_success_check(schema)
    assert check({"a": "x"})
    assert not check({"error": {}})
    assert not check({"a": 1})
    assert not check([])
