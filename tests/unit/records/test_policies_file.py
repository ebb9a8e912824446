"""The file of the shop's policies: its contents, and the error for an unusable one."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from infra.demo.shipping import shipping_fee
from server.config.settings import DEMO
from tests.support.cases import cases
from tools.store.models.order import LANGUAGES, TOPICS
from tools.store.records.policies_file import LARGEST_TEXT, PoliciesFileError, load, parse

NAMES = [f"{topic} {language}" for topic, language in product(TOPICS, LANGUAGES)]
WHOLE = "A note.\n" + "".join(f"# {name}\n\n## Of {name}\n\ntext\n" for name in NAMES)


def test_policy_text_reaches_from_its_heading_to_the_next() -> None:
    policies = parse(WHOLE)
    assert policies.text("shipping", "ja") == "## Of shipping ja\n\ntext"
    assert policies.text("languages", "en") == "## Of languages en\n\ntext"
    assert policies.text("gifts", "en") == policies.text("shipping", "fr") == ""


def test_shop_may_define_its_own_topics_in_one_language() -> None:
    policies = parse("# shipping en\nBy bicycle.\n# Gift-Wrapping  EN\nIn paper.\n# gift-wrapping ja\n紙で。\n")
    assert policies.topics == ("shipping", "gift-wrapping")
    assert [policies.languages(each) for each in policies.topics] == [("en",), ("en", "ja")]
    assert policies.text("gift-wrapping", "en") == "In paper."


@cases(
    ("content", "told"),
    [
        ("", "there is no text; a line such as '# shipping en' begins one"),
        (WHOLE.replace("# payment ja", "# payments ja"), "line 27: 'payments' is a slip of 'payment'"),
        (WHOLE + "# returns fr\nx", "'returns fr' is no topic and one of en, ja"),
        (WHOLE + "# Our terms\nx", "'our terms' is no topic and one of en, ja"),
        ("".join(f"# topic-{number} en\nx\n" for number in range(41)), "line 81: there are at most 40 texts"),
        (WHOLE + "# returns EN\nagain\n", "'returns en' stands there twice"),
        (WHOLE.replace("## Of returns ja\n\ntext", " "), "no text under '# returns ja'"),
        (WHOLE + "See manga://policies/gift-wrapping.", "points to manga://policies/gift-wrapping, which has no text here"),
        (WHOLE.replace("text", "x" * LARGEST_TEXT, 1), "'# shipping en' has more than 64 KB"),
    ],
)
def test_malformed_policies_file_is_refused_with_file_and_line(content: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "policies.md"
    file.write_text(content, "utf-8")
    with pytest.raises(PoliciesFileError, match=re.escape(told)) as refused:
        load(file)
    assert "policies.md" in str(refused.value)


def test_unreadable_or_missing_policies_file_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "policies.md"
    for _ in range(2):
        with pytest.raises(PoliciesFileError, match=re.escape("policies.md")):
            load(file)
        file.write_bytes(b"# shipping en\n\xff")


def test_sample_policies_state_the_fees_and_days_of_the_demo_shop() -> None:
    """Fees, the free limit and the days for a return are those that its orders were made with."""
    policies = load(DEMO / "policies.md")
    for language in LANGUAGES:
        shipping = policies.text("shipping", language)
        fees = [shipping_fee(place, 1000) for place in ("Tokyo", "Miyagi", "Hokkaido", "Okinawa", "Taiwan")]
        told = [int(each.replace(",", "")) for each in re.findall(r"\| ¥?([\d,]+)円? \|", shipping)]
        assert told == fees
        assert str(shipping_fee("Tokyo", 1000, letterbox=True)) in shipping
        assert "8,000" in shipping
        assert re.search(r"8 days|8日", policies.text("returns", language))
    assert shipping_fee("Tokyo", 8000) == 0 < shipping_fee("Tokyo", 7999)
