"""What of the shop's policies finds room in a system prompt."""

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


def test_each_block_is_one_line_without_marks() -> None:
    assert policies_in_short(Policies({("returns", "en"): TEXT}), "en").splitlines()[1:] == [
        "manga://policies/returns",
        "Unread volumes may come back. They have to be whole.",
        "to: fee; Kanto: ¥680",
        "- E-books never. Not even unread.",
        "- Within 8 days, and no later.",
    ]


def test_japanese_goes_on_without_a_space() -> None:
    told = policies_in_short(Policies({("payment", "ja"): "- 前払い\n  です。"}), "ja")
    assert told.splitlines()[-1] == "- 前払いです。"


def test_what_is_in_bold_goes_before_the_rest_and_nothing_is_cut_inside() -> None:
    small = "\n".join(f"- Paragraph {number} says little that matters." for number in range(400))
    text = f"{small}\n- **All sales end on Friday.**\n- {'far too long ' * 2_000}"
    told = policies_in_short(Policies({("shipping", "en"): small, ("payment", "en"): text}), "en")
    assert told.endswith("- All sales end on Friday.")
    assert estimate(told) < MOST_TOKENS + 75
    assert all(line.endswith(".") for line in told.splitlines()[2:] if line.startswith("- "))
    assert "far too long" not in told


def test_a_shop_that_says_nothing_has_no_heading() -> None:
    assert policies_in_short(Policies(), "en") == ""


def test_what_is_written_in_one_language_is_told_in_it() -> None:
    told = policies_in_short(Policies({("returns", "ja"): "だめ"}), "en")
    assert told.splitlines()[1:] == ["manga://policies/returns", "だめ"]
