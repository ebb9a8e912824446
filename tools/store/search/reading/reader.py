"""Parses a shopper's text to a `Reading`: runs the scanner, the look-up of names, the binder, and `Meaning`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from session.resilience.clocks import Now, utc_now
from session.resilience.deadline import Deadline
from session.resilience.tasks import run_periodically
from tools.store.currency import YEN, Currency
from tools.store.failures import BackendFailure
from tools.store.models import CatalogPage, CatalogQuery, CatalogTerms, Conditions, NameMatches, Title
from tools.store.search.reading.binder import Binder
from tools.store.search.reading.items import Stance
from tools.store.search.reading.magazine_names import MagazineNames, is_ordinary, publishers
from tools.store.search.reading.meaning import Meaning, refusal_of
from tools.store.search.reading.names import Candidate, candidates, lost, may_name, nearly_called, with_names, with_series
from tools.store.search.reading.reading import Reading, Understood
from tools.store.search.reading.scanner import Scanner, magazine_entry
from tools.store.search.reading.stances import Stances
from tools.store.search.reading.tables import data_of, lexicon
from tools.store.search.reading.tokens import Is, Sense, Token
from tools.store.search.text.characters import has_cjk, normalise
from tools.store.search.text.readings import Dictionary
from tools.store.search.text.romaji import mend_kana
from tools.store.tags import Tag, Vocabulary, shipped

T = TypeVar("T")
LONGEST = 500
"""Most characters of a text that are read; the rest is ignored."""
_MOST_SECONDS, _MOST_SEARCHING, _SHARE = 0.15, 0.4, 1 / 3
"""Most seconds for looking names up exactly, and then by similarity; the share of the remaining time that each may take."""
_AT_ONCE = 120
"""Most characters of a text that is parsed without yielding to the event loop."""
_MOST_QUEUED = 0.4
"""Most seconds that the steps of a long text wait for those of other texts."""
UNREAD = "The text could not be read in time, so that nothing in it was obeyed: ask for it in fewer words."
_NO_TERMS = CatalogTerms({}, {})
_MOST_SERIES, _SHOWN = 4, 80
"""Most refused titles whose series are looked up, and most characters shown of a text that is not read."""
_MOST_STARTING, _MOST_WARMING, _WARM_AGAIN = 0.5, 5.0, 300.0
"""Seconds: timeouts for reading the catalogue's words at the start and in the background, and the refresh interval."""


class Names(Protocol):
    async def terms(self, deadline: Deadline) -> CatalogTerms: ...

    async def match_names(self, names: Sequence[str], deadline: Deadline) -> dict[str, NameMatches]: ...

    async def get(self, title_ids: Sequence[str], deadline: Deadline) -> dict[str, Title]: ...

    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage: ...


AtHand = Callable[[Sequence[str]], dict[str, NameMatches]]


def _nothing(_: Sequence[str]) -> dict[str, NameMatches]:
    return {}


@dataclass(frozen=True, slots=True)
class Scanned:
    """A normalised text and its tokens. `away`: True if the catalogue could not look up names. `within`: the deadline of
    further look-ups."""

    text: str
    tokens: list[Token]
    terms: CatalogTerms
    away: bool
    within: Deadline


class Reader:
    """Parses texts by the tags, magazines and names of one catalogue. `now` gives the current year. `at_hand` looks up names
    while the catalogue fails. `vocabulary` has the shop's own words for tags. Amounts of money are in `currency`."""

    def __init__(
        self,
        catalog: Names,
        now: Now = utc_now,
        at_hand: AtHand = _nothing,
        vocabulary: Vocabulary | None = None,
        currency: Currency = YEN,
    ) -> None:
        self._catalog = catalog
        self._now = now
        self._at_hand = at_hand
        self._vocabulary = vocabulary or shipped()
        self._currency = currency
        self._told = _NO_TERMS
        self._made: tuple[CatalogTerms, int, Scanner] | None = None
        self._piece, self._making = asyncio.Lock(), asyncio.Lock()

    def over(self, catalog: Names) -> Reader:
        return Reader(catalog, self._now, self._at_hand, self._vocabulary, self._currency)

    async def warm(self, seconds: float = _MOST_STARTING) -> None:
        """Builds the word tables on a thread. Waits up to `seconds` for the catalogue's tags and magazines."""
        await self._scanner(await self.terms(Deadline.after(seconds)))

    async def keep_warm(self) -> None:
        """Rebuilds the word tables when the catalogue's tags or magazines have changed. Runs until cancelled."""
        await run_periodically("words of the catalogue", self._round)

    async def _round(self) -> float:
        await self.warm(_MOST_WARMING)
        return _MOST_WARMING if self._told is _NO_TERMS else _WARM_AGAIN

    async def read(self, text: str, deadline: Deadline) -> Reading:
        """Parses a text. If the catalogue is late or fails, finds only the names that `at_hand` knows, and marks the reading
        as `unnamed` if the text may have other names. If a long text waits too long for other texts, the reading has no
        conditions and no subject, and reports the text as not obeyed."""
        try:
            return await self._read(text, deadline)
        except TimeoutError:
            unread = Understood(text[:_SHOWN], text[:_SHOWN], obeyed=False)
            return Reading(text, "", understood=(unread,), vague=True, remarks=(UNREAD,), unnamed=True)

    async def _read(self, text: str, deadline: Deadline) -> Reading:
        scanned = await self.tokens(text, deadline)
        queued = _share_of(deadline, _MOST_QUEUED)
        whole, named, away, within = scanned.text, scanned.tokens, scanned.away, scanned.within
        bound = await self._work(whole, lambda: Binder(named).bind(), queued)
        unwanted = [item.token for item in bound.items if item.token.title_ids and item.stance is Stance.REFUSED]
        if unwanted and not away:
            await self._series(unwanted, within)
        titles = await self._titles(named, within)
        meaning = Meaning(whole, named, bound, scanned.terms, self._now().year, titles, currency=self._currency)
        reading = await self._work(whole, meaning.read, queued)
        if away and bound.likes:
            reading = replace(reading, subject=whole)
        if not reading.understood and not reading.freedoms and reading.subject == whole:
            reading = replace(reading, subject=text)
        several = sum(token.kind in (Is.FACT, Is.WORD) for token in named) > 1
        if away and several and not any("tags" in each.about for each in reading.understood):
            # The themes may be words of a name that was not looked up: "Robot Cat".
            reading = replace(reading, conditions=replace(reading.conditions, tags=()))
        return replace(reading, unnamed=away and may_name(named))

    async def tokens(self, text: str, deadline: Deadline) -> Scanned:
        """Splits a text into tokens, and looks its names up. Raises TimeoutError if a long text has no turn in time."""
        terms = await self.terms(_share_of(deadline))
        scanner, queued = await self._scanner(terms), _share_of(deadline, _MOST_QUEUED)
        whole = mend_kana(normalise(text[:LONGEST])[:LONGEST])  # a character may become several
        tokens = await self._work(whole, lambda: scanner.scan(whole), queued)
        proper = _capitals(text, whole)
        asked = await self._work(whole, lambda: candidates(whole, tokens, proper), queued)
        called, away = await self.called(tuple(dict.fromkeys(each.name for each in asked)), _share_of(deadline))
        named = await self._work(whole, lambda: with_names(whole, tokens, asked, called, proper), queued)
        within = _share_of(deadline, _MOST_SEARCHING)
        if not away and (missing := lost(whole, named)):
            named, called = await self._match_misspelled(whole, named, missing, called, within)
        return Scanned(whole, named, terms, away, within)

    async def terms(self, within: Deadline) -> CatalogTerms:
        """Returns the catalogue's tags and magazines; the last known ones if the catalogue does not answer in time."""
        with suppress(BackendFailure):
            self._told = await self._catalog.terms(within)
        return self._told

    async def called(self, names: Sequence[str], within: Deadline) -> tuple[dict[str, NameMatches], bool]:
        """Looks up names. Returns the matches and False; if the catalogue fails, the matches of `at_hand` and True."""
        try:
            return (await self._catalog.match_names(names, within) if names else {}), False
        except BackendFailure:
            return self._at_hand(names), True

    async def refused(
        self, name: str, terms: CatalogTerms, called: Mapping[str, NameMatches], deadline: Deadline
    ) -> Conditions:
        """Returns the conditions that exclude a name, by `refusal_of`. `called`: matches by normalised name. Raises
        TimeoutError if a long name has no turn in time."""
        scanner = await self._scanner(terms)
        whole, matches = normalise(name), called.get(normalise(name), NameMatches())
        await asyncio.sleep(0)
        return await self._work(whole, lambda: refusal_of(whole, scanner.scan(whole), terms, matches), deadline)

    async def _work(self, whole: str, work: Callable[[], T], queued: Deadline) -> T:
        """Runs a step of the parsing. Steps on long texts yield to the event loop first and run one at a time, so that other
        calls are served in between. Raises TimeoutError if such a step has no turn by `queued`."""
        if len(whole) <= _AT_ONCE:
            return work()
        async with asyncio.timeout(max(0.0, queued.remaining())) if self._piece.locked() else nullcontext():
            await self._piece.acquire()
        try:
            await asyncio.sleep(0)
            return work()
        finally:
            self._piece.release()

    async def _match_misspelled(
        self, whole: str, tokens: list[Token], missing: Sequence[Candidate], called: dict[str, NameMatches], within: Deadline
    ) -> tuple[list[Token], dict[str, NameMatches]]:
        found = await nearly_called(self._catalog, [each.name for each in missing], within)
        known = dict(found.values())
        sure = tuple(replace(each, name=found[each.name][0], sure=True) for each in missing if each.name in found)
        return (with_names(whole, tokens, sure, known) if sure else tokens), called | known

    async def _series(self, tokens: Sequence[Token], within: Deadline) -> None:
        """Adds the ids of the rest of the series, in place, to the first `_MOST_SERIES` tokens of refused titles."""
        called = {token.names[0]: NameMatches(token.title_ids) for token in tokens[:_MOST_SERIES]}
        found = await with_series(self._catalog, tuple(called), called, within)
        for token in tokens[:_MOST_SERIES]:
            token.title_ids = found[token.names[0]].title_ids

    async def _titles(self, tokens: Sequence[Token], within: Deadline) -> dict[str, Title]:
        """Returns the named titles by id; none if no word asks for a comparison or a name, or if the catalogue fails."""
        ids = [token.title_ids[0] for token in tokens if token.title_ids]
        if not ids or not any(
            token.entry(Is.RELATIVE) or token.entry(Is.BOUND) or token.operator(Sense.NAME) for token in tokens
        ):
            return {}
        try:
            return await self._catalog.get(ids, within)
        except BackendFailure:
            return {}

    async def _scanner(self, terms: CatalogTerms) -> Scanner:
        year = self._now().year
        async with self._making:  # otherwise each concurrent first call would build its own
            made = self._made
            if made is None or made[1] != year or (made[0] is not terms and made[0] != terms):
                scanner = await asyncio.to_thread(_scanner_of, terms, year, self._vocabulary.own, self._currency)
                made = (terms, year, scanner)
            self._made = (terms, *made[1:])
        return made[2]


def _scanner_of(terms: CatalogTerms, year: int, tags: Mapping[str, Tag], currency: Currency) -> Scanner:
    Dictionary.english_words()
    Stances.load()
    words, magazines = lexicon(terms, year, tags, currency), MagazineNames(terms.magazines)
    for publisher in publishers():
        names = dict.fromkeys(name for each in publisher.names for name in magazines.named(each))
        for spelling in publisher.spelled:
            cue = spelling != normalise(publisher.name) and is_ordinary(spelling)
            words.add(spelling, magazine_entry(publisher.name, tuple(names), cue=cue), slips=not cue)
    for name in filter(has_cjk, terms.magazines):
        words.add(name, magazine_entry(name, (name,)))
    known = frozenset(word for key in (*words.latin, *words.exact) for word in key.split(" "))
    romaji = frozenset(data_of("ja")["romaji"]["words"].split())
    return Scanner(words, magazines, known, romaji, currency)


def _capitals(text: str, whole: str) -> frozenset[int]:
    """Returns the positions of capital letters. Empty if the text is in capitals or title case, or if `whole`, its
    normalised form, has another length."""
    if len(text) != len(whole) or text.isupper() or text.istitle():
        return frozenset()
    return frozenset(i for i, letter in enumerate(text) if letter.isupper())


def _share_of(deadline: Deadline, most: float = _MOST_SECONDS) -> Deadline:
    return deadline.within(min(most, _SHARE * deadline.remaining()))
