"""The order that a query asks for besides what it is about: "most popular", "best rated", "newest", 評価の高い."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from tools.store.models import Ordering, Title
from tools.store.search.document import prior

_ADJECTIVE = r"(?:the |your |a )?"
_WORDINGS = {
    Ordering.POPULARITY: re.compile(
        rf"\b{_ADJECTIVE}(?:most|more) (?:popular|read|famous|loved)\b|\b{_ADJECTIVE}best[- ]?sell(?:ing|ers?)\b"
        r"|\b(?:sorted |ordered )?by popularity\b|\bpopular(?= (?:sh[oō]u?(?:nen|jo)|seinen|josei|kodomo)\b)"
        r"|(?:一番|最も|いちばん)?人気の?(?:順|ランキング|が(?:ある|高い)|の高い|no\.?1|ナンバーワン)(?:の|に|で)?|(?:一番|最も|いちばん)人気の?"
        r"|人気の?(?=(?:少年|少女|青年|女性|児童|子供)(?:漫画|マンガ|コミック))|売れ筋の?|売れている|ベストセラーの?"
    ),
    Ordering.RATING: re.compile(
        rf"\b{_ADJECTIVE}(?:best|highest|top)[- ](?:rated|reviewed|scor(?:ed|ing)|ranked)\b"
        r"|\b(?:sorted |ordered )?by rating\b"
        r"|(?:一番|最も|いちばん)?(?:高評価|評価の高い|評価が高い|高得点)の?|評価順(?:の|に|で)?"
    ),
    Ordering.NEWEST: re.compile(
        rf"\b{_ADJECTIVE}(?:newest|latest|most recent)\b|\bnew releases?\b|\bnewest first\b"
        r"|新しい順(?:の|に|で)?|最新(?:作|刊)?の?|新着の?|新[作刊]の?"
    ),
}
TRUSTED_RATINGS, USUAL_RATING = 500, 3.5
"""A rating by few is drawn towards the usual one: (n × own + m × usual) / (n + m), as the Internet Movie Database weighs its
charts, with m = 500."""
UNKNOWN = -math.inf
UNRANKED = 10**9


def read_ordering(text: str) -> tuple[Ordering | None, str]:
    """The ordering that a normalised text asks for, the first that is named, and the text without the words that ask."""
    named = {ordering: match for ordering, wording in _WORDINGS.items() if (match := wording.search(text))}
    if not named:
        return None, text
    first = min(named, key=lambda ordering: named[ordering].start())
    return first, " ".join(_WORDINGS[first].sub(" ", text).split())


def standing(title: Title, ordering: Ordering) -> float:
    """What a title is ordered by, the higher the earlier; `UNKNOWN` where nothing is known."""
    if ordering is Ordering.RATING:
        return weighted_rating(title)
    if ordering is Ordering.NEWEST:
        return UNKNOWN if title.start_year is None else float(title.start_year)
    return prior(title)


def in_order(titles: Sequence[Title], ordering: Ordering) -> tuple[Title, ...]:
    """Equal ones in the order of fame, then of their rank."""

    def key(title: Title) -> tuple[float, float, int]:
        return -standing(title, ordering), -prior(title), title.popularity_rank or UNRANKED

    return tuple(sorted(titles, key=key))


def weighted_rating(title: Title) -> float:
    """A rating that nobody counted weighs as much as the usual one."""
    if title.rating is None:
        return UNKNOWN
    count = TRUSTED_RATINGS if title.rating_count is None else title.rating_count
    return (count * title.rating + TRUSTED_RATINGS * USUAL_RATING) / (count + TRUSTED_RATINGS)
