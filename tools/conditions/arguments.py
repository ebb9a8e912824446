"""Search conditions as optional tool arguments, for models that pass structured values rather than words.

The arguments are not nested. null, an empty string and 0 state no condition, since some models must send every argument."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tools.contract import Json
from tools.store.failures import Violation
from tools.store.identifiers import AUDIENCES
from tools.store.models import DIGITAL, PAPER, Audience, Conditions, Ordering, Range, Status
from tools.store.search.text.characters import normalise

RELEVANCE = "relevance"
FURTHEST = 5_000
"""Highest offset into a list of results; shoppers do not page further."""


def _number(most: int, about: str) -> Json:
    return {"type": "integer", "minimum": 0, "maximum": most, "description": about}


def _one_of(choices: list[str], about: str) -> Json:
    return {"type": "string", "enum": choices, "description": about}


CONDITIONS: Json = {
    "status": _one_of([each.value for each in Status], "Of the series."),
    "min_volumes": _number(10_000, "At least."),
    "max_volumes": _number(10_000, "At most; 1 for a single book."),
    "from_year": _number(9_999, "Begun then or later."),
    "to_year": _number(9_999, "Begun then or earlier."),
    "without": {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": 200},
        "maxItems": 20,
        "description": "Each refusal: theme, readership, author, title, magazine, publisher.",
    },
    "audience": _one_of(list(AUDIENCES), "At most: all_ages a child, teen 13, older_teen 16."),
    "max_price_jpy": _number(1_000_000, "For one volume."),
    "in_stock": {"type": "boolean", "description": "Can be bought now."},
    "format": _one_of([PAPER, DIGITAL], "Paper or download."),
    "sort": _one_of([RELEVANCE, *(each.value for each in Ordering)], "Order."),
    "offset": _number(FURTHEST, "For more: next_offset of the last answer."),
}

FACTS = tuple(name for name, rule in CONDITIONS.items() if rule["type"] != "array")
"""Names of arguments that never hold free text of the customer, so that a call's history may show them."""


def conditions_of(asked: Json) -> Conditions:
    """Converts validated arguments to conditions; ignores `sort`, `offset` and `without` (`resolve_excluded` reads that)."""
    genre, author, status, audience = (asked.get(name) for name in ("genre", "author", "status", "audience"))
    return Conditions(
        genres=(genre,) if genre else (),
        author=(author or "").strip() or None,
        min_rating=asked.get("min_rating") or None,
        statuses=(Status(status),) if status else (),
        volumes=_range(asked, "min_volumes", "max_volumes"),
        years=_range(asked, "from_year", "to_year"),
        audience=Audience(audience) if audience else None,
        price=Range(None, asked.get("max_price_jpy") or None),
        format=asked.get("format") or None,
        in_stock=bool(asked.get("in_stock")),
    )


_STATED_BY = {
    "genres": ("genre",),
    "statuses": ("status",),
    "volumes": ("min_volumes", "max_volumes"),
    "years": ("from_year", "to_year"),
    "price": ("max_price_jpy",),
}


def stated_by(name: str, asked: Json) -> str:
    """Returns the names of the given arguments that state the condition `name`, separated by commas."""
    return ", ".join(each for each in _STATED_BY.get(name, (name,)) if asked.get(each))


def _range(asked: Json, least: str, most: str) -> Range:
    return Range(asked.get(least) or None, asked.get(most) or None)


def contradictions(asked: Json) -> list[Violation]:
    """Returns a violation for each pair of bounds (volumes, years) whose minimum exceeds its maximum."""
    return [
        Violation(f"$.{least}", "maximum", f"{asked[least]} is more than {most}", f"use at most {asked[most]}")
        for least, most in (("min_volumes", "max_volumes"), ("from_year", "to_year"))
        if _is_more(asked.get(least), asked.get(most))
    ]


def _is_more(least: Any, most: Any) -> bool:
    return isinstance(least, int) and isinstance(most, int) and 0 < most < least


_STATUSES = {
    Status.FINISHED: "complete completed ended done 完結 完結済み 完結済",
    Status.PUBLISHING: "ongoing running publishing 連載中 連載",
    Status.HIATUS: "paused on_hiatus 休載 休載中",
    Status.DISCONTINUED: "cancelled canceled dropped 打ち切り",
}
_AUDIENCES = {
    Audience.ALL_AGES: "all everyone kids children child family 全年齢 子供 子ども",
    Audience.TEEN: "teens teenager teenagers 13 13+ ティーン 中学生",
    Audience.OLDER_TEEN: "older_teens 16 16+ 高校生",
    Audience.ADULT: "adults mature 18 18+ 大人 成人",
}
_FORMATS = {PAPER: "paper print printed book 紙", DIGITAL: "ebook e_book electronic 電子 電子書籍"}
_SORTS = {
    RELEVANCE: "best_match relevant",
    Ordering.POPULARITY: "popular most_popular 人気順 人気",
    Ordering.RATING: "rated best_rated top_rated highest_rated 評価順",
    Ordering.NEWEST: "new latest recent 新しい順 新着順",
    Ordering.SHORTEST: "short length shortest_first",
    Ordering.PRICE: "cheap cheapest lowest_price price_asc 安い順",
}


_COMMAS = str.maketrans({"、": ",", ";": ",", "\n": ","})


def _spelling(choices: Mapping[Any, str]) -> Callable[[str], str]:
    """Returns a function that maps a synonym to its choice and leaves other text unchanged. `choices`: each choice with its
    synonyms, separated by spaces."""
    said = {word: str(choice) for choice, words in choices.items() for word in (str(choice), *words.split())}
    return lambda text: said.get("_".join(normalise(text).replace("-", " ").split()), text)


def _split_list(text: str) -> list[str]:
    """Splits text that was passed in place of a list ("horror, gore") at commas, semicolons and newlines."""
    parts = text.translate(_COMMAS).split(",")
    return [part.strip() for part in parts if part.strip()]


SPELLED: dict[str, Callable[[str], Any]] = {
    "status": _spelling(_STATUSES),
    "audience": _spelling(_AUDIENCES),
    "format": _spelling(_FORMATS),
    "sort": _spelling(_SORTS),
    "without": _split_list,
}
"""Normalisers by argument name, for alternative spellings (`Tool.spelled`)."""
