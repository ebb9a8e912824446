"""What it may cost: "under ¥600", 600円以下, "the whole series under ¥8,000", 全巻で8000円以内."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.store.models import Conditions
from tools.store.search.reading.amounts import Amount, Amounts, worded
from tools.store.search.reading.bounds import Bound
from tools.store.search.reading.claim import Claim

_BEFORE = Amounts(before=r"(?:¥|\\|jpy |yen ?)", bare=Bound.MOST)
_AFTER = Amounts(after=r" ?(?:yen\b|jpy\b|円|¥)", bare=Bound.MOST)
_MAY_SAY_SO = re.compile(r"[¥\\円]|yen|jpy")
"""Which each of them has: most texts are looked at no closer."""
_REACH = 48
"""Characters before an amount in which it is said what costs so much."""
_WHOLE = (
    r"(?:(?:the |a )?(?:whole|complete|entire|full) (?:series|set|run|thing|story|collection)|(?:all"
    r"|every)(?: of)?(?: the| its)? volumes?"
    r"|in total|total(?: price)?|altogether|(?:シリーズ)?(?:全巻|全部|全体|全冊)(?:セット|揃え|そろえ)?|セット|合計"
    r"|まとめて|シリーズ)"
)
_WHOLE_BEFORE = re.compile(
    rf"{_WHOLE}(?:,| (?:is|are|costs?|costing|priced|for|at|to|be|can|bought|me|should)){{0,4}}(?:で|が|の合計が|を"
    rf"|買って|は)?,? ?$"
)
_WHOLE_AFTER = re.compile(rf" ?(?:for )?(?:で)?{_WHOLE}(?![a-z])")
_EACH = re.compile(r" ?(?:(?:per|a|each) (?:volume|book|copy)|each|apiece|(?:で買える|で読める))(?![a-z])")
_COSTS = re.compile(
    r"(?:\b(?:that |which )?(?:costs?|costing|priced?|prices?|for|at|is|are)|(?:[一1](?:冊|巻)|各巻)(?:あたり|が"
    r"|で)?|価格が|値段が) ?$"
)


def find_price(text: str) -> Iterator[Claim]:
    """Amounts of yen: of the whole series where it is said beside them, else of one volume."""
    for amount in (*_BEFORE.find(text), *_AFTER.find(text)) if _MAY_SAY_SO.search(text) else ():
        yield _claim(text, amount)


def _claim(text: str, amount: Amount) -> Claim:
    low = max(0, amount.start - _REACH)
    before, after = _WHOLE_BEFORE.search(text, low, amount.start), _WHOLE_AFTER.match(text, amount.end)
    if before or after:
        start, end = before.start() if before else amount.start, after.end() if after else amount.end
        return Claim(start, end, f"{worded(amount.range, 'yen')} for the series", Conditions(series_price=amount.range))
    costs, each = _COSTS.search(text, low, amount.start), _EACH.match(text, amount.end)
    start, end = costs.start() if costs else amount.start, each.end() if each else amount.end
    return Claim(start, end, f"{worded(amount.range, 'yen')} a volume", Conditions(price=amount.range))
