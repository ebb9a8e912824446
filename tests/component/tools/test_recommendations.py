"""get_recommendations, through the whole pipeline: what is liked is a way to say what to look for, not an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.calling import called, opened


async def recommended(folder: Path, criteria: str) -> dict[str, Any]:
    async with opened(folder) as app:
        answer: dict[str, Any] = (await called(app, "get_recommendations", {"criteria": criteria}))["structuredContent"]
    return answer


@pytest.mark.parametrize(
    ("criteria", "known"),
    [
        ("like Berserk", {"Berserk"}),
        ("I loved Berserk", {"Berserk"}),
        ("Berserk", {"Berserk"}),
        ("I like Naruto and Bleach", {"Naruto", "Bleach"}),
        ("manga like Death Note but funny", {"Death Note"}),
    ],
)
async def test_a_title_that_is_named_as_liked_is_not_recommended(tmp_path: Path, criteria: str, known: set[str]) -> None:
    answer = await recommended(tmp_path, criteria)
    titles = {each["title"] for each in answer["recommendations"]}
    assert len(titles) == 3
    assert not titles & known


async def test_what_is_named_as_liked_goes_before_what_was_bought(tmp_path: Path) -> None:
    for each in (await recommended(tmp_path, "like Berserk"))["recommendations"]:
        assert "with Berserk, which you named." in each["reason"]


@pytest.mark.parametrize("criteria", ["qwertzuiop", "like Solo Leveling", "Batman"])
async def test_what_nothing_fits_is_said_and_no_name_that_is_only_similar_fits(tmp_path: Path, criteria: str) -> None:
    answer = await recommended(tmp_path, criteria)
    assert "criteria" not in answer["based_on"]
    assert answer["note"].startswith("Nothing here fits the criteria")
    assert not any("Fits" in each["reason"] for each in answer["recommendations"])
    assert len(answer["recommendations"]) == 3


async def test_what_fits_needs_no_note(tmp_path: Path) -> None:
    answer = await recommended(tmp_path, "dark fantasy")
    assert "criteria" in answer["based_on"]
    assert "note" not in answer
