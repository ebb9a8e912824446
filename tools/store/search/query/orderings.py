"""The order that a query asks for besides what it is about: "most popular", "best rated", "newest", 評価の高い."""

from __future__ import annotations

import re

from tools.store.models import Ordering

_ADJECTIVE = r"(?:the |your |a )?"
WORDINGS = {
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


def read_ordering(text: str) -> tuple[Ordering | None, str]:
    """The ordering that a normalised text asks for, the first that is named, and the text without the words that ask."""
    named = {ordering: match for ordering, wording in WORDINGS.items() if (match := wording.search(text))}
    if not named:
        return None, text
    first = min(named, key=lambda ordering: named[ordering].start())
    return first, " ".join(WORDINGS[first].sub(" ", text).split())
