"""What answers are put in order by: "most popular", "best rated", "newest", "shortest", "cheapest", 安い順."""

from __future__ import annotations

import re

from tools.store.models import Ordering
from tools.store.search.query.orderings import WORDINGS
from tools.store.search.reading.wordings import Wording, finding

_SAID = {
    Ordering.POPULARITY: "most popular first",
    Ordering.RATING: "best rated first",
    Ordering.NEWEST: "newest first",
    Ordering.SHORTEST: "shortest first",
    Ordering.PRICE: "cheapest first",
}
_MORE = {
    Ordering.POPULARITY: re.compile(
        r"\b(?:the )?most (?:well[- ]known|beloved|sold)\b|\btrending\b|売れて(?:い)?る|ランキング(?:上位)?の?"
        r"|\bmost popular first\b"
    ),
    Ordering.RATING: re.compile(
        r"\b(?:by|best) (?:rating|reviews?)(?: first)?\b|(?:評価|評判)(?:の|が)(?:高い|良い|いい)順(?:の|に|で)?|最高評価の?"
    ),
    Ordering.NEWEST: re.compile(r"\b(?:most )?recent(?:ly released)? first\b|\bnew arrivals?\b"),
    Ordering.SHORTEST: re.compile(
        r"\b(?:the )?shortest(?: first)?\b|\bby length\b|(?:一番|最も|いちばん)短い|短い順(?:の|に|で)?|巻数(?:の"
        r"|が)少ない(?:順(?:の|に|で)?)?"
    ),
    Ordering.PRICE: re.compile(
        r"\b(?:the )?(?:cheap(?:est|er)?|least expensive|inexpensive|affordable|lowest[- ]priced?"
        r"|budget(?:[- ]friendly)?)(?: first)?\b"
        r"|\b(?:sorted |ordered )?by price\b|\b(?:price )?low to high\b"
        r"|(?:一番|最も|いちばん)?(?:お?値段|価格)?(?:が|の)?(?:安い(?:順)?|安め|お?安くて(?!も)|安く(?=、))(?:の|に|で)?|最安の?|お手頃(?:価格)?[なの]?|手頃な|リーズナブルな|安価な"
    ),
}

find_ordering = finding(
    *(
        Wording(pattern, _SAID[ordering], ordering=ordering)
        for patterns in (WORDINGS, _MORE)
        for ordering, pattern in patterns.items()
    )
)
