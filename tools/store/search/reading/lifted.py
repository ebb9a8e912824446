"""What freedoms leave of the conditions that were stated before them in a text. Nothing here waits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tools.store.search.reading.claim import Claim
from tools.store.search.reading.recipients.another import SOMEBODY
from tools.store.search.reading.resolving import Resolved

_AGE = re.compile(r"[0-9]")


def lifted(text: str, held: Sequence[Resolved]) -> tuple[Resolved, ...]:
    """The claims in the order of the text, with what the later freedoms leave of each."""
    freeing = [each.claim for each in held if each.claim.freedom]
    if not freeing:
        return tuple(held)
    return tuple(replace(each, claim=_left(text, each.claim, freeing)) for each in held)


def _left(text: str, claim: Claim, freeing: Iterable[Claim]) -> Claim:
    """How old somebody is, is no wish: "for my niece who is 8, it need not be for children"."""
    words = text[claim.start : claim.end]
    if claim.conditions.audience and (SOMEBODY.search(words) or _AGE.search(words)):
        return claim
    for later in freeing:
        if later.freedom and later.start > claim.start:
            left = later.freedom.leaves(claim.conditions).but(*later.conditions.stated)
            if left != claim.conditions:
                says = f"{claim.says} or {later.says.removesuffix(' is fine')}" if left.stated else ""
                claim = replace(claim, conditions=left, says=says)
    return claim
