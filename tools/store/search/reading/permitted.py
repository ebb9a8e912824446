"""What permissions leave of the exclusions in a text. Nothing here waits.

What one may have is nothing to another: "no gore for my son, gore is fine for me" takes nothing back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tools.store.models import Conditions
from tools.store.search.reading.claim import PERMITTING, About, Claim
from tools.store.search.reading.persons import last_named, may_be_one, said_of
from tools.store.search.reading.resolving import Resolved


def permits_in_vain(claim: Claim, stated: Iterable[Claim]) -> bool:
    """Whether what it permits is excluded nowhere: "shonen is fine" may be all that somebody asks for. Nobody asks so for
    what is unpleasant while they exclude something else: "violence is ok but no horror"."""
    if claim.about not in PERMITTING:
        return False
    excluding = [other.conditions for other in stated if other.about not in PERMITTING and _excludes(other.conditions)]
    return not any(claim.about is About.ENDURED or _meet(each, claim.conditions) for each in excluding)


def permitted(text: str, held: Sequence[Resolved]) -> tuple[Resolved, ...]:
    """The claims in the order of the text, without the conditions that were taken back."""
    permitting = [each.claim for each in held if each.claim.about in PERMITTING]
    if not permitting:
        return tuple(held)
    left = [replace(each, claim=_left(text, each.claim, permitting)) for each in held]
    excluded = [each.claim.conditions for each in left if each.claim.about not in PERMITTING]
    return tuple(replace(each, claim=_as_said(each.claim, excluded)) for each in left)


def _left(text: str, claim: Claim, permitting: Iterable[Claim]) -> Claim:
    """What an exclusion is after the permissions for the same person. One before it spares what is only implied: "gore is
    fine but no horror"."""
    if claim.about in PERMITTING or not _excludes(claim.conditions):
        return claim
    for permission in permitting:
        implied = not {*claim.conditions.without_tags[:1], *claim.conditions.without_genres}.intersection(
            (*permission.conditions.without_tags, *permission.conditions.without_genres)
        )
        if (permission.start > claim.start or implied) and _of_one(text, claim, permission):
            claim = _without(claim, permission.conditions)
    return claim


def _of_one(text: str, claim: Claim, permission: Claim) -> bool:
    """Whether both may be said of one person. What is excluded for nobody that is named is for whom something is wanted."""
    beside = f"{text[: permission.start]} {text[permission.end :]}"
    whose = said_of(text, claim.start, claim.end) or last_named(beside)
    return may_be_one(whose, said_of(text, permission.start, permission.end))


def _as_said(claim: Claim, excluded: Iterable[Conditions]) -> Claim:
    """A permission says nothing of the answer where what it permits stays excluded: later, or for somebody else."""
    if claim.about not in PERMITTING:
        return claim
    says = "" if any(_meet(each, claim.conditions) for each in excluded) else claim.says
    return replace(claim, conditions=Conditions(), says=says)


def _excludes(conditions: Conditions) -> bool:
    return bool(conditions.without_tags or conditions.without_genres)


def _meet(one: Conditions, other: Conditions) -> bool:
    return bool({*one.without_tags} & {*other.without_tags} or {*one.without_genres} & {*other.without_genres})


def _without(claim: Claim, taken: Conditions) -> Claim:
    """The claim without what is permitted. Where that was all, its words still say nothing of what is wanted."""
    excluded = claim.conditions
    if not _meet(excluded, taken):
        return claim
    if (
        claim.about in (About.NAMESAKE, About.EXCEPTED)
        and excluded.without_tags[:1]
        and excluded.without_tags[0] in taken.without_tags
    ):
        return replace(claim, conditions=Conditions(), says="")
    tags = tuple(tag for tag in excluded.without_tags if tag not in taken.without_tags)
    genres = tuple(genre for genre in excluded.without_genres if genre not in taken.without_genres)
    left = replace(excluded, without_tags=tags, without_genres=genres)
    says = f"without {', '.join((*genres, *tags[:1]))}{' and the like' * (len(tags) > 1)}" if left.stated else ""
    return replace(claim, conditions=left, says=says)
