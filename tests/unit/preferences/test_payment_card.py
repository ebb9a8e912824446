"""Payment card numbers are told apart from other numbers by their check digit."""

from __future__ import annotations

from typing import Any

from tests.support.cases import cases
from tools.preferences.answers import contains_card_number
from tools.remember_preference import TOOL, check_preference
from tools.schema.validation import ArgumentsValidator


@cases(
    "text",
    [
        "my card is 4111 1111 1111 1111",
        "5555-5555-5555-4444",
        "カード番号は378282246310005です",
        "4111.1111.1111.1111 / 5555",
        "4111/1111/1111/1111",
        "no. 12 4111 - 1111 - 1111 - 1111",
        "4111 1111 1111 1111 12 2026",
        "0" * 13,
        "0" * 19,
        "000000 0000000",
        " ".join("0" * 13),
    ],
)
def test_number_with_the_check_digit_of_a_card_is_a_card_number(text: str) -> None:
    assert contains_card_number(text)


@cases(
    "text",
    [
        "4111 1111 1111 1112",
        "4111 1111 1111 1121",
        "at most 700 yen",
        "call 03-1234-5678",
        "41111111111111111111111111",
        "2000 to 2010, volume 12",
        "0" * 12,
        "0000 0000 0000",
        "0" * 20,
        "1" + "0" * 12,
    ],
)
def test_other_numbers_are_no_card_number(text: str) -> None:
    assert not contains_card_number(text)


def test_preference_with_a_card_number_is_refused_without_repeating_it() -> None:
    assert TOOL.check is not None
    (refused,) = TOOL.check({"preference": "my card number is 4111 1111 1111 1111"})
    assert "4111" not in refused.message + refused.fix
    assert not TOOL.check({"preference": "I don't like gore"})


@cases(
    ("asked", "rules"),
    [({"preference": " \t"}, ["minLength"]), ({"preference": ""}, ["minLength"]), ({"preference": " x"}, [])]
    + [({"preference": 4111_1111_1111_1111}, ["not"]), ({"preference": None}, []), ({}, [])],
)
def test_blank_preference_is_refused_and_other_types_are_left_to_the_schema(asked: dict[str, Any], rules: list[str]) -> None:
    assert [each.rule for each in check_preference(asked)] == rules


def test_single_letter_is_a_preference() -> None:
    assert ArgumentsValidator(TOOL.input_schema).validate({"preference": "x"}) == {"preference": "x"}
