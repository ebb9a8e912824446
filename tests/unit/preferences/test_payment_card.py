"""Payment card numbers are told apart from other numbers by their check digit."""

from __future__ import annotations

from tests.support.cases import cases
from tools.preferences.answers import contains_card_number
from tools.remember_preference import TOOL


@cases(
    "text",
    [
        "my card is 4111 1111 1111 1111",
        "5555-5555-5555-4444",
        "カード番号は378282246310005です",
        "4111.1111.1111.1111 / 5555",
        "4111/1111/1111/1111",
        "no. 12 4111 - 1111 - 1111 - 1111",
    ],
)
def test_number_with_the_check_digit_of_a_card_is_a_card_number(text: str) -> None:
    assert contains_card_number(text)


@cases(
    "text",
    ["4111 1111 1111 1112", "at most 700 yen", "call 03-1234-5678", "41111111111111111111111111", "2000 to 2010, volume 12"],
)
def test_other_numbers_are_no_card_number(text: str) -> None:
    assert not contains_card_number(text)


def test_preference_with_a_card_number_is_refused_without_repeating_it() -> None:
    assert TOOL.check is not None
    (refused,) = TOOL.check({"preference": "my card number is 4111 1111 1111 1111"})
    assert "4111" not in refused.message + refused.fix
    assert not TOOL.check({"preference": "I don't like gore"})
