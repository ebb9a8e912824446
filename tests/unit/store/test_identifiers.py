"""A shop's id patterns: which are allowed, and how a customer's spelling of a number becomes the shop's."""

from __future__ import annotations

import time

import pytest

from tools.store.identifiers import ORDER_ID, TITLE_ID, Identifiers, IdPattern


def test_order_number_is_normalised_from_common_spellings() -> None:
    said = {
        ORDER_ID: {
            "MNG-DEMO1001": ("mng demo1001", "DEMO1001", "#MNG\u2010DEMO1001", "mng-demo-1001", "MNGDEMO1001"),
            "Naruto": ("Naruto",),
            "ABCDEFGH": ("ABCDEFGH",),  # letters alone are a word
        },
        r"^KYB-\d{8}$": {"KYB-12345678": ("kyb 1234 5678", "12345678", "KYB.12345678"), "1234567": ("1234567",)},
        "[A-Z]{2}/[0-9]{4}-[a-z]{1,3}".replace("/", "-"): {"AB-1234-xy": ("ab 1234 XY", "ab1234xy")},
        r"\d{10}": {"1234567890": ("123-456-7890",)},
    }
    for pattern, meant in said.items():
        for number, spellings in meant.items():
            assert [IdPattern(pattern).normalise(text) for text in spellings] == [number] * len(spellings)


def test_title_id_is_normalised_only_with_its_prefix_and_digits() -> None:
    """Any other text may be a title's name."""
    for pattern, meant in {
        r"ink-\d{4}": {"ink-0001": ("INK-0001", "ink 0001", "Ink0001"), "0001": ("0001",), "1984": ("1984",)},
        TITLE_ID: {"manga-001001": ("MANGA 001001",), "Eyeshield 21": ("Eyeshield 21",), "Manga Dogs": ("Manga Dogs",)},
        r"[A-Z]{4}[0-9]{2}": {"Area 88": ("Area 88",)},
    }.items():
        for title_id, spellings in meant.items():
            assert [IdPattern(pattern).normalise(text, whole=True) for text in spellings] == [title_id] * len(spellings)


def test_example_of_a_pattern_matches_it() -> None:
    for pattern in (ORDER_ID, r"^KYB-\d{8}$", "[a-z]{3}_[0-9]{2,4}", "B[A-F]{6}"):
        assert IdPattern(pattern).matches(IdPattern(pattern).example)


def test_unbounded_id_pattern_is_refused_with_the_reason() -> None:
    for pattern in (
        "(a|b)+",
        "a.*",
        "[A-Z",
        "[Z-A]{3}",
        "x{9,3}[0-9]",
        "[a-z]{1,40}[a-z]{1,40}",
        "\u65e5[0-9]",
        "",
        "^MNG$",
    ):
        with pytest.raises(ValueError, match="cannot use|no pattern|counts|at most|needs a set"):
            IdPattern(pattern)


def test_widest_id_pattern_matches_500_characters_within_50_ms() -> None:
    """Every accepted pattern matches in linear time."""
    pattern = IdPattern("[a-z]{1,9}[a-z]{1,9}[a-z]{1,9}[0-9]")
    began = time.process_time()
    pattern.normalise("a" * 500)
    assert time.process_time() - began < 0.05


def test_schemas_and_descriptions_use_the_order_numbers_of_the_shop() -> None:
    shop = Identifiers(orders=IdPattern(r"KYB-\d{8}"))
    rule = {"pattern": ORDER_ID, "description": "Such as MNG-DEMO1001; left out: their latest ten."}
    assert shop.adapt(rule) == {
        "pattern": r"^KYB-\d{8}$",
        "description": "Such as KYB-12345678; left out: their latest ten.",
    }
