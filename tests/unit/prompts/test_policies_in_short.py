"""Which of the shop's policies fit into a system prompt."""

from __future__ import annotations

from tools.prompts.shopping_assistant import MOST_TOKENS, policies_in_short
from tools.results.shortening import estimate
from tools.store.models.order import Policies

TEXT = """## Returns

Unread volumes may come back.
They have to be whole.

| to | fee |
| --- | --- |
| Kanto | ¥680 |

- E-books never.
  Not even unread.
- **Within 8 days**, and no later.
"""


def test_each_policy_block_becomes_one_line_without_markdown() -> None:
    assert policies_in_short(Policies({("returns", "en"): TEXT}), "en").splitlines()[1:] == [
        "manga://policies/returns",
        "Unread volumes may come back. They have to be whole.",
        "to: fee; Kanto: ¥680",
        "- E-books never. Not even unread.",
        "- Within 8 days, and no later.",
    ]


def test_wrapped_japanese_lines_are_joined_without_a_space() -> None:
    told = policies_in_short(Policies({("payment", "ja"): "- 前払い\n  です。"}), "ja")
    assert told.splitlines()[-1] == "- 前払いです。"


def test_bold_policy_lines_go_first_within_the_token_limit_and_lines_stay_whole() -> None:
    small = "\n".join(f"- Paragraph {number} says little that matters." for number in range(400))
    text = f"{small}\n- **All sales end on Friday.**\n- {'far too long ' * 2_000}"
    told = policies_in_short(Policies({("shipping", "en"): small, ("payment", "en"): text}), "en")
    assert told.endswith("- All sales end on Friday.")
    assert estimate(told) < MOST_TOKENS + 75
    assert all(line.endswith(".") for line in told.splitlines()[2:] if line.startswith("- "))
    assert "far too long" not in told


def test_shop_without_policies_gets_no_heading() -> None:
    assert policies_in_short(Policies(), "en") == ""


def test_policy_in_one_language_is_told_in_that_language() -> None:
    told = policies_in_short(Policies({("returns", "ja"): "だめ"}), "en")
    assert told.splitlines()[1:] == ["manga://policies/returns", "だめ"]
