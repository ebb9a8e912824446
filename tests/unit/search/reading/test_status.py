"""Whether a series goes on, in either language, and what is left to search by."""

from __future__ import annotations

import pytest

from tests.support.reading import read
from tools.store.models import Conditions, Status

FINISHED, PUBLISHING, HIATUS, DISCONTINUED = Status.FINISHED, Status.PUBLISHING, Status.HIATUS, Status.DISCONTINUED


@pytest.mark.parametrize(
    ("text", "subject", "statuses"),
    [
        ("finished romance", "romance", [FINISHED]),
        ("a mystery that has ended", "a mystery", [FINISHED]),
        ("horror, complete please", "horror", [FINISHED]),
        ("fantasy that's over already", "fantasy", [FINISHED]),
        ("kanketsu sports manga", "sports manga", [FINISHED]),
        ("完結済みのホラー", "ホラー", [FINISHED]),
        ("ミステリーで完結しているもの", "ミステリー", [FINISHED]),
        ("もう終わっている恋愛もの", "恋愛もの", [FINISHED]),
        ("comedy, still running", "comedy", [PUBLISHING]),
        ("ongoing fantasy", "fantasy", [PUBLISHING]),
        ("currently serialized sci-fi", "sci-fi", [PUBLISHING]),
        ("連載中のスポーツ漫画", "スポーツ漫画", [PUBLISHING]),
        ("まだ続いているホラー", "ホラー", [PUBLISHING]),
        ("fantasy on hiatus", "fantasy", [HIATUS]),
        ("休載中のファンタジー", "ファンタジー", [HIATUS]),
        ("cancelled sci-fi", "sci-fi", [DISCONTINUED]),
        ("打ち切りになったSF", "sf", [DISCONTINUED]),
        ("romance, not finished yet", "romance", [PUBLISHING, HIATUS]),
        ("まだ完結していない恋愛漫画", "恋愛漫画", [PUBLISHING, HIATUS]),
        ("unfinished mystery", "mystery", [PUBLISHING, HIATUS, DISCONTINUED]),
        ("未完のミステリー", "ミステリー", [PUBLISHING, HIATUS, DISCONTINUED]),
        ("a fantasy that isn't cancelled", "a fantasy", [FINISHED, PUBLISHING, HIATUS]),
        ("連載中以外のホラー", "ホラー", [FINISHED, HIATUS, DISCONTINUED]),
        ("romance, not finished yet but not on hiatus", "romance", [PUBLISHING]),
        ("horror, not finished, not cancelled", "horror", [PUBLISHING, HIATUS]),
        ("romance, finished or still running", "romance", [FINISHED, PUBLISHING]),
    ],
)
def test_status_is_read(text: str, subject: str, statuses: list[Status]) -> None:
    found = read(text)

    assert found.conditions == Conditions(statuses=tuple(statuses))
    assert found.subject == subject


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a complete set of nerves",
            "unfinished business of ghosts",
            "a romance with a happy ending",
            "the end of the world",
        ),
        *("世界の終わりの物語", "what to do when the war is over 100 years", "running a cafe", "a boxer with a broken hand"),
    ],
)
def test_what_only_sounds_like_a_status_states_nothing(text: str) -> None:
    assert read(text).conditions.statuses == ()
