"""What a comparison with a title comes to: "like Berserk but shorter"."""

from __future__ import annotations

from dataclasses import replace

from tools.store.models import Conditions, Range, Title
from tools.store.search.reading.claim import Claim, Relative

_FEW = 10
"""Volumes that anybody calls shorter than a series whose end nobody knows."""


def conditions_beside(title: Title, relative: Relative) -> Conditions | None:
    """What has to hold beside `title`; None where its own fact is unknown, so that nothing can be said.

    Shorter is at most half its volumes: a series one volume shorter is no shorter read. A series that still runs and whose
    volumes nobody counted is taken for a long one.
    """
    match relative:
        case Relative.SHORTER:
            return Conditions(volumes=Range(most=max(1, title.volumes // 2) if title.volumes else _FEW))
        case Relative.LONGER:
            return Conditions(volumes=Range(least=title.volumes + 1)) if title.volumes else None
        case Relative.NEWER:
            return Conditions(years=Range(least=title.start_year + 1)) if title.start_year else None
        case Relative.OLDER:
            return Conditions(years=Range(most=title.start_year - 1)) if title.start_year else None
        case Relative.BY_ANOTHER:
            return Conditions(without_authors=tuple(author.name for author in title.authors)) if title.authors else None


def compared(claim: Claim, title: Title | None) -> Claim:
    """The claim with what has to hold beside `title`; not obeyed where there is none, or its facts do not say."""
    if claim.relative is None:
        return claim
    conditions = None if title is None else conditions_beside(title, claim.relative)
    if title is None or conditions is None:
        return replace(claim, obeyed=False)
    return replace(claim, conditions=conditions, says=f"{claim.says} than {title.display}")
