"""How the arguments may be written besides: "completed", 完結, "teens", "best rated", a text where a list is meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tools.conditions.arguments import RELEVANCE
from tools.store.models import DIGITAL, PAPER, Audience, Ordering, Status
from tools.store.search.text.characters import normalise

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
    """Brings a text into the one form of the choice that it is another word for; any other stays as it is."""
    said = {word: str(choice) for choice, words in choices.items() for word in (str(choice), *words.split())}
    return lambda text: said.get("_".join(normalise(text).replace("-", " ").split()), text)


def _listed(text: str) -> list[str]:
    """A text where a list was meant: "horror, gore"."""
    parts = text.translate(_COMMAS).split(",")
    return [part.strip() for part in parts if part.strip()]


SPELLED: dict[str, Callable[[str], Any]] = {
    "status": _spelling(_STATUSES),
    "audience": _spelling(_AUDIENCES),
    "format": _spelling(_FORMATS),
    "sort": _spelling(_SORTS),
    "without": _listed,
}
"""How each may be written besides (`Tool.spelled`)."""
