"""How well a title is rated: "rated over 4", "at least 4 stars", 評価4以上, 高評価; and awards.

Ratings go to five; who asks for more than five counts to ten. "Highly rated" is a rating of four, best first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tools.store.models import CatalogTerms, Conditions, Ordering
from tools.store.search.reading.amounts import Amount, Amounts
from tools.store.search.reading.bounds import Bound
from tools.store.search.reading.claim import Claim, Find
from tools.store.search.reading.wordings import Wording, finding

HIGH, FULL, HIGHEST = 4.0, 4.5, 5.0
"""What "highly rated" asks for, what "five stars" does, and the end of the scale."""

_STARS = Amounts(after=r"(?: ?\+)?[ -]?stars?\b(?: ratings?| reviews?)?", step=0.01, bare=Bound.LEAST)
_COUNT = r" ?(?:巻|冊|月|年|円|¥|yen\b|volumes?\b|vols?\b|books\b)"
"""What is counted is no rating."""
_PLAIN = Amounts(after=rf"(?: ?(?:つ|点|個))?(?<![0-9]{{3}})(?![0-9]|{_COUNT})", step=0.01, bare=Bound.LEAST)
_RATED = re.compile(
    r"\b(?:(?:with|has|have) )?(?:an? )?(?:average )?(?:ratings?|rated|reviewed|scor(?:e|ed|es|ing))(?: (?:of|is"
    r"|at(?! least| most)|an?)){0,2} "
    r"|(?:平均)?(?:評価|レビュー|評点|(?:(?<![^\s、。のでが])|(?<=かつ))星|★)(?:が|は|の平均が|平均)?"
)
_SCALE = re.compile(
    r" ?(?:stars?\b|out of (?:five|ten|5|10)\b|/ ?(?:5|10)\b)(?: (?:or|and) (?:more|above|up|higher|better)\b)?"
)

_find_high = finding(
    Wording(
        re.compile(
            r"\b(?:highly|well)[- ](?:rated|reviewed|regarded|received)\b|\b(?:critically )?acclaimed\b"
            r"|\b(?:(?:with|has|have) )?(?:good|great|high|excellent) (?:ratings?|reviews?|scores?)\b"
            r"|(?<!一番)(?<!最も)(?<!いちばん)(?:(?<!最)高評価|評価の高い|評価が高い|高得点)の?(?!順)"
        ),
        "rated at least 4",
        Conditions(min_rating=HIGH),
        Ordering.RATING,
    )
)
_AWARDED = re.compile(
    r"\b(?:multi-)?(?:award|prize)[- ]?winn(?:ing|ers?)\b"
    r"|\b(?:that |which )?(?:has |have )?(?:won|winner of|winning) (?:an? |the |some |any "
    r"|many )?(?:[a-z]{1,20} ){0,3}(?:awards?|prizes?)\b"
    r"|(?:[^\s、。のをで]{0,8}(?:大賞|賞))?(?:を)?受賞(?:し(?:て(?:い)?て|た|てる|ている)|歴のある|作品?)?|(?:賞"
    r"|アワード)を(?:取った|とった|獲った|受賞した)"
)


def find_rating(text: str) -> Iterator[Claim]:
    """Ratings in numbers and in words."""
    for cue in _RATED.finditer(text):
        amount = _PLAIN.at(text, cue.end())
        if amount:
            scale = _SCALE.match(text, amount.end)
            yield from _claims(amount, cue.start(), scale.end() if scale else amount.end)
    for amount in _STARS.find(text) if "star" in text else ():
        yield from _claims(amount, amount.start, amount.end)
    yield from _find_high(text)


def _claims(amount: Amount, start: int, end: int) -> Iterable[Claim]:
    """None where no least rating is stated: nobody asks for bad ones."""
    least = amount.range.least
    if least is None or not 0 < least <= 2 * HIGHEST:
        return
    rating = round(least / 2, 2) if least > HIGHEST + 0.01 else min(least, FULL) if least >= HIGHEST else least
    yield Claim(start, end, f"rated at least {rating:g}", Conditions(min_rating=rating))


def awards_from(terms: CatalogTerms) -> Find:
    """A finder of awards, by the tag that the catalogue has for them; without one they are understood in vain."""
    tags = tuple(tag for tag in terms.tags if "award" in tag.casefold())

    def find(text: str) -> Iterator[Claim]:
        for match in _AWARDED.finditer(text):
            yield Claim(*match.span(), "award-winning", Conditions(tags=(tags,) if tags else ()), obeyed=bool(tags))

    return find
