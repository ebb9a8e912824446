"""A text to its `Reading`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import ParamSpec, Protocol, TypeVar

from session.resilience.clocks import Now, utc_now
from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.failures import BackendFailure
from tools.store.models import Called, CatalogPage, CatalogQuery, CatalogTerms, Title
from tools.store.search.reading.claim import About, Claim, Find
from tools.store.search.reading.claims import LONGEST, claims_of
from tools.store.search.reading.finders import finders
from tools.store.search.reading.hearing import compared, heard, reading_of
from tools.store.search.reading.names import MOST_NAMES, Phrase, phrases_around
from tools.store.search.reading.nearly import nearly_called, unresolved
from tools.store.search.reading.necessity import needed
from tools.store.search.reading.reading import Reading
from tools.store.search.reading.resolving import orders_of, unchecked
from tools.store.search.reading.series import ruled_out, with_series
from tools.store.search.text.characters import normalise

_MOST_SECONDS, _MOST_SEARCHING, _SHARE = 0.15, 0.4, 1 / 3
"""What the catalogue may take of the call's time to say what goes by a name, exactly and then nearly: many times what it
takes, so that a busy machine loses none; a reading does without rather than wait longer."""
_NO_TERMS = CatalogTerms({}, {})
_AT_ONCE = 120
"""Characters that are read in a millisecond or two."""
_KEPT = 100
"""Long texts of which is known what they claim."""


class Names(Protocol):
    """What a reader asks of a catalogue (`tools.store.ports.CatalogPort`)."""

    async def terms(self, deadline: Deadline) -> CatalogTerms: ...

    async def called(self, names: Sequence[str], deadline: Deadline) -> dict[str, Called]: ...

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]: ...

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage: ...


Claims = tuple[tuple[Claim, ...], tuple[Phrase, ...]]
P = ParamSpec("P")
T = TypeVar("T")
AtHand = Callable[[Sequence[str]], dict[str, Called]]


def _nothing(_: Sequence[str]) -> dict[str, Called]:
    return {}


class Reader:
    """Reads texts with the words of one catalogue. `now` tells it which year it is; `at_hand` what goes by names where the
    catalogue does not."""

    def __init__(self, catalog: Names, now: Now = utc_now, at_hand: AtHand = _nothing) -> None:
        self._catalog = catalog
        self._now = now
        self._at_hand = at_hand
        self._told = _NO_TERMS
        self._turn = asyncio.Lock()
        self._kept: Lru[str, tuple[tuple[Find, ...], Claims]] = Lru(_KEPT)
        self._finders: tuple[CatalogTerms, int, tuple[Find, ...]] | None = None

    async def read(self, text: str, deadline: Deadline) -> Reading:
        """Asks the catalogue for names only where some words state something. Without an answer of it in time the reading
        goes on with the names at hand: what is said of others is then understood and not obeyed."""
        terms = await self.terms(_share_of(deadline))
        whole, text = await self._plainly(normalise(text[:LONGEST]), text, deadline)
        claims, phrases = await self._claims(whole, await self._finders_of(terms))
        names = _asked(claims, phrases) if claims else ()
        called, away = await self.called(names, _share_of(deadline))
        lost = unresolved(claims, terms, called)
        within = _share_of(deadline, _MOST_SEARCHING)
        if lost and not away:
            called = called | await nearly_called(self._catalog, lost, within)
        if not away and (unwanted := ruled_out(claims, terms, called)):
            called = called | await with_series(self._catalog, unwanted, called, within)
        unnamed = away or any(name not in called for name in lost)
        stated = unchecked(claims, terms, called) if unnamed else claims
        held = await self._beside(whole, heard, whole, stated, phrases, terms, called)
        if any(each.claim.relative for each in held):
            held = compared(held, await self._title(next(each.like[0] for each in held if each.like), within))
        if not held:
            return replace(reading_of(whole, ()), subject=text, unnamed=unnamed)
        return replace(reading_of(whole, held), unnamed=unnamed)

    async def _plainly(self, whole: str, text: str, deadline: Deadline) -> tuple[str, str]:
        """The normalised text, and what to search by where it states nothing: both with what has to be said plainly, unless
        something is called so."""
        said = needed(whole)
        if said == whole or any(each.title_ids for each in (await self.called((whole,), _share_of(deadline)))[0].values()):
            return whole, text
        return said, said

    async def _claims(self, whole: str, find: tuple[Find, ...]) -> Claims:
        """Of a long text, those that were found a moment ago: a fallback reads it again."""
        kept = self._kept.use(whole)
        if kept is None or kept[0] is not find:
            kept = (find, await self._beside(whole, _claims_and_phrases, whole, find))
            if len(whole) > _AT_ONCE:
                self._kept.put(whole, kept)
        return kept[1]

    async def _beside(self, whole: str, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Work on a text, beside the event loop where it is long; one at a time, so that the loop waits for one at most."""
        if len(whole) <= _AT_ONCE:
            return work(*args, **named)
        async with self._turn:
            return await asyncio.to_thread(work, *args, **named)

    async def terms(self, within: Deadline) -> CatalogTerms:
        """The catalogue's own words; where it does not tell them in time those that it told last."""
        with suppress(BackendFailure):
            self._told = await self._catalog.terms(within)
        return self._told

    async def called(self, names: Sequence[str], within: Deadline) -> tuple[dict[str, Called], bool]:
        """What goes by them, of what is at hand where the catalogue did not say, and whether it did not."""
        try:
            return (await self._catalog.called(names, within) if names else {}), False
        except BackendFailure:
            return self._at_hand(names), True

    async def _title(self, title_id: str, within: Deadline) -> Title | None:
        try:
            return (await self._catalog.get((title_id,), within)).get(title_id)
        except BackendFailure:
            return None

    async def _finders_of(self, terms: CatalogTerms) -> tuple[Find, ...]:
        """Made once for each state of the catalogue, and each year: off the loop, since they fold hundreds of names."""
        year, made = self._now().year, self._finders
        if made is None or made[0] is not terms or made[1] != year:
            made = self._finders = (terms, year, await asyncio.to_thread(finders, terms, year))
        return made[2]


def _claims_and_phrases(whole: str, find: tuple[Find, ...]) -> Claims:
    claims = claims_of(whole, find)
    return claims, phrases_around(whole, claims)


def _share_of(deadline: Deadline, most: float = _MOST_SECONDS) -> Deadline:
    return deadline.within(min(most, _SHARE * deadline.remaining()))


def _asked(claims: Sequence[Claim], phrases: Sequence[Phrase]) -> tuple[str, ...]:
    """The names of claims before what may protect words."""
    said = [name for claim in claims for name in claim.names]
    people = [name for claim in claims if claim.about in (About.EXCLUDED, About.BY) for name in claim.names]
    names = (*said, *(order for name in people for order in orders_of(name)), *(phrase.name for phrase in phrases))
    return tuple(dict.fromkeys(names))[:MOST_NAMES]
