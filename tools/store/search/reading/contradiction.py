"""What a text states twice and nothing can be at once: "finished and still running", "Naruto, but not Naruto"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tools.store.search.query.parser import without_filler
from tools.store.search.reading.claim import About, Claim

_EITHER = re.compile(
    r"\b(?:n?or|either|as well as)\b|/|か|または|もしくは|あるいは|や|・|^ ?[,、] ?$|^ ?(?:[,、] )?(?:と|も)$"
)
"""Between two of which one is enough."""
_OR = re.compile(r",? ?(?:\b(?:or|or else|or at least)\b|/|か、?|または|もしくは|あるいは) ?")
BOTH = "Nothing can be both {} and {}: ask the customer which of the two is meant."
RULED_OUT = "{} is asked for and ruled out as well: it was left out. Ask the customer which of the two is meant."
EITHER = '"{}" or "{}" was asked for, and what is shown is both: search again for either alone if that is too little.'


def remarks(text: str, subject: str, binding: Sequence[Claim]) -> Iterator[str]:
    """Sentences on the claims that hold of a text, in its order, and on what it is about."""
    for one, other in pairwise(each for each in binding if each.conditions.stated and not each.freedom):
        between = text[one.end : other.start]
        if _are_two_states(one, other) and not _EITHER.search(between):
            yield BOTH.format(one.says, other.says)
        elif _OR.fullmatch(between) and set(one.conditions.stated).isdisjoint(other.conditions.stated):
            yield EITHER.format(one.says, other.says)
    tamed = next((each for each in binding if each.conditions.audience), None)
    if tamed and any(each.adult for each in binding):
        yield BOTH.format("for adults alone", tamed.says)
    unwanted = [name for each in binding if each.about in (About.EXCLUDED, About.EXCEPTED) for name in each.names]
    if unwanted and (about := without_filler(subject)) in unwanted:
        yield RULED_OUT.format(about)


def _are_two_states(one: Claim, other: Claim) -> bool:
    """Of a series, which is in one at a time."""
    states, others = one.conditions.statuses, other.conditions.statuses
    return bool(states and others) and set(states).isdisjoint(others)
