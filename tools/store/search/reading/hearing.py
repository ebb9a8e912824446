"""What the claims of a text come to, with what the catalogue said of its names. Nothing here waits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tools.store.models import Called, CatalogTerms, Conditions, Title
from tools.store.search.reading.claim import Claim
from tools.store.search.reading.claims import apart
from tools.store.search.reading.contradiction import remarks
from tools.store.search.reading.lifted import lifted
from tools.store.search.reading.names import Phrase, excepted, protected
from tools.store.search.reading.permitted import permits_in_vain, permitted
from tools.store.search.reading.reading import Reading, Understood
from tools.store.search.reading.relative import conditions_beside
from tools.store.search.reading.resolving import Resolved, resolved
from tools.store.search.reading.subject import is_vague, subject_of


def heard(
    text: str, claims: Sequence[Claim], phrases: Sequence[Phrase], terms: CatalogTerms, called: Mapping[str, Called]
) -> tuple[Resolved, ...]:
    """The claims that hold, in the order of the text: no part of a name, of known names, and with words of their own."""
    stated = [excepted(claim, phrases, called) for claim in claims if not protected(text, claim, phrases, called)]
    known = {claim: outcome for claim in stated if (outcome := resolved(claim, terms, called)) is not None}
    known = {claim: outcome for claim, outcome in known.items() if not permits_in_vain(claim, known)}
    if not any(outcome.like for outcome in known.values()):
        known = {claim: outcome for claim, outcome in known.items() if claim.relative is None}
    return lifted(text, permitted(text, [known[claim] for claim in apart(known)]))


def compared(held: Sequence[Resolved], title: Title | None) -> tuple[Resolved, ...]:
    """With what is said relatively to a title as conditions; in vain where the title's fact is not known."""
    return tuple(_compared(each, title) if each.claim.relative else each for each in held)


def _compared(each: Resolved, title: Title | None) -> Resolved:
    beside = conditions_beside(title, each.claim.relative) if title and each.claim.relative else None
    return replace(each, claim=replace(each.claim, conditions=beside or Conditions(), obeyed=beside is not None))


def reading_of(text: str, held: Sequence[Resolved]) -> Reading:
    """The reading of a normalised text."""
    subject = subject_of(text, [each.claim for each in held]) if held else text
    binding = _binding(held)
    conditions = Conditions()
    for each in binding:
        conditions = conditions.and_also(each.claim.conditions)
    vague = is_vague(subject)
    said = remarks(text, subject, [each.claim for each in binding])
    return Reading(
        text=text,
        subject="" if held and vague else subject,
        conditions=conditions,
        ordering=next((each.claim.ordering for each in held if each.claim.ordering), None),
        like=_ids(each.like for each in held),
        known=_ids(each.known for each in held),
        understood=tuple(_understood(text, each.claim) for each in binding if each.claim.says),
        vague=vague,
        adult=any(each.claim.adult for each in held),
        freedoms=tuple(each.claim.freedom for each in held if each.claim.freedom),
        remarks=tuple(said),
        again=any(each.claim.again for each in held),
    )


def _binding(held: Sequence[Resolved]) -> tuple[Resolved, ...]:
    """Without what is loosely said of something that a number is stated of: "not too long, eight volumes at most"."""
    stated = {name for each in held if not each.claim.loose for name in each.claim.conditions.stated}
    return tuple(each for each in held if not each.claim.loose or stated.isdisjoint(each.claim.conditions.stated))


def _ids(each: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(title_id for ids in each for title_id in ids))


def _understood(text: str, claim: Claim) -> Understood:
    return Understood(claim.says, text[claim.start : claim.end], claim.obeyed, claim.conditions.stated)
