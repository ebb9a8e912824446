"""A catalogue of 18,804 titles, as many as the largest that the store has, whose best known titles are as full as a record
gets: fifteen other names, eleven tags, and now and then fifty authors."""

from __future__ import annotations

import random
from typing import Any

TITLES = 18_804
FULL = 600
"""Titles that are as full as that; the popular ones that are kept are among them."""
OTHER_NAMES, TAGS, MANY_AUTHORS, AUTHORS = 15, 11, 50, 2_000

_SYLLABLES = [
    "ka",
    "ki",
    "ku",
    "ke",
    "ko",
    "sa",
    "shi",
    "su",
    "se",
    "so",
    "ta",
    "chi",
    "tsu",
    "te",
    "to",
    "na",
    "ni",
    "nu",
    "ne",
    "no",
    "ha",
    "hi",
    "fu",
    "he",
    "ho",
    "ma",
    "mi",
    "mu",
    "me",
    "mo",
    "ra",
    "ri",
    "ru",
    "re",
    "ro",
]
_KANA = "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをん"
_KANJI = "日月火水木金土山川田人口手足目耳花草雨雪風空海星夜朝春夏秋冬東西南北剣刀鬼龍虎狼猫犬鳥魚"
_TAGS = [
    "Action",
    "Adventure",
    "Comedy",
    "Drama",
    "Fantasy",
    "Horror",
    "Mystery",
    "Romance",
    "Sports",
    "Magic",
    "School",
    "Military",
    "Music",
    "Cooking",
]
_GENRES = ("shonen", "seinen", "shojo", "josei", "kodomo")


def large_catalog(titles: int = TITLES) -> list[dict[str, Any]]:
    """The same each time."""
    draw = random.Random(18_804)
    authors = [_author(draw) for _ in range(AUTHORS)]
    return [_record(draw, rank) | (_fullness(draw, rank, authors) if rank <= FULL else {}) for rank in range(1, titles + 1)]


def _record(draw: random.Random, rank: int) -> dict[str, Any]:
    return {
        "title_id": f"manga-{rank:06}",
        "title": {"en": f"{_word(draw, 5)} {_word(draw, 3)} {rank}".title(), "ja": _letters(draw, _KANJI, 6)},
        "genre": _GENRES[rank % len(_GENRES)],
        "tags": draw.sample(_TAGS, 3),
        "rating": round(draw.uniform(2, 5), 2),
        "rating_count": 500_000 // rank,
        "popularity_rank": rank,
        "volumes": draw.randint(1, 110),
        "offers": [
            {"format": "physical", "price_jpy": 528, "stock": 5},
            {"format": "digital", "price_jpy": 480, "stock": None},
        ],
    }


def _fullness(draw: random.Random, rank: int, authors: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "alt_titles": [_other_name(draw, n) for n in range(OTHER_NAMES)],
        "authors": draw.sample(authors, MANY_AUTHORS if rank % 20 == 0 else 2),
        "tags": draw.sample(_TAGS, TAGS),
        "synopsis": {"en": " ".join(f"{_word(draw, 3)} {draw.choice(_TAGS)}" for _ in range(60)) + "."},
    }


def _other_name(draw: random.Random, n: int) -> str:
    return _letters(draw, _KANA, 40) if n % 2 else " ".join(_word(draw, 4) for _ in range(8)).title()


def _author(draw: random.Random) -> dict[str, str]:
    name = f"{_word(draw, 3).title()}, {_word(draw, 3).title()}"
    return {"name": name, "name_ja": _letters(draw, _KANJI, 4), "name_kana": _letters(draw, _KANA, 7)}


def _word(draw: random.Random, syllables: int) -> str:
    return "".join(draw.choices(_SYLLABLES, k=syllables))


def _letters(draw: random.Random, among: str, many: int) -> str:
    return "".join(draw.choices(among, k=many))
