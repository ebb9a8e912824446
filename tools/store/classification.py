from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from session.resilience.deadline import Deadline
from session.resilience.lru import Lru
from tools.store.failures import BackendFailure, TimedOut
from tools.store.identifiers import GENRES
from tools.store.models import CatalogTerms, Classification, Health, Neighbour
from tools.store.ports import CatalogPort, Classifier
from tools.store.search.query.parsed import GENRE_WORDINGS
from tools.store.search.query.themes import ThemeTable
from tools.store.search.ranking.weights import WEIGHTS
from tools.store.search.text.characters import has_cjk, normalise
from tools.store.search.text.tokens import words

_EXPLICIT = (
    r"\b(?:18\+|r-?18\+?|adults?[- ]only|hentai|erotica?|smut|porn(?:ographic)?|x[- ]rated|nsfw|for adults only)(?![a-z])"
)
_EXPLICIT_JA = (
    "(?:成人(?:向け|指定)|18禁|r-?18|官能|エロ(?:漫画|マンガ|本|同人)"
    "|アダルト(?:漫画|マンガ|コミック|向け|(?=なし|抜き|以外)))"
)
_ADULT = re.compile(rf"{_EXPLICIT}|{_EXPLICIT_JA}")


@dataclass(frozen=True, slots=True)
class StatedLabels:
    """Labels that a text names. `evidence_weight` is the weight, 0 to 1, of the titles near the text as evidence."""

    tags: frozenset[str] = frozenset()
    readerships: frozenset[str] = frozenset()
    evidence_weight: float = 1.0


def evidence_weight(text: str) -> float:
    """Returns the weight, 0 to 1, of the titles near the text as evidence: a fifth for each different content word, or for
    each 2.5 Japanese characters. Reads only the first 500 characters, since it runs on the event loop."""
    plain = normalise(text[:500])
    japanese = sum(map(has_cjk, plain))
    latin = len(set(words(plain))) if japanese < len(plain) / 2 else 0
    return min(1.0, max(latin, japanese / 2.5) / 5)


def is_explicit(text: str) -> bool:
    return _ADULT.search(normalise(text)) is not None


def find_stated_labels(text: str) -> StatedLabels:
    """Returns the tags and readerships that the text names. Blocking: some milliseconds for 2,000 characters."""
    plain = normalise(text)
    tags = frozenset(tag for theme in ThemeTable.load().themes(text) for tag in theme.tags)
    readerships = frozenset(genre for genre, wording in GENRE_WORDINGS.items() if wording.search(plain))
    return StatedLabels(tags, readerships, evidence_weight(text))


@dataclass(frozen=True, slots=True)
class Vote:
    """The result of a weighted vote. `shares` has each label's share of the weight; `voters` is the effective number of
    equally weighted voters (Kish, "Survey Sampling", 1965)."""

    shares: Mapping[str, float]
    voters: float

    def surprise(self, label: str, usual: float) -> float:
        """Returns by how many standard errors the label's share of the votes exceeds `usual`, its share in the catalogue (0
        to 1); negative if the share is lower, 0 without voters."""
        if not self.voters:
            return 0.0
        usual = min(max(usual, 1e-6), 1 - 1e-6)
        return (self.shares.get(label, 0.0) - usual) / math.sqrt(usual * (1 - usual) / self.voters)


def vote(voters: Sequence[tuple[float, Collection[str]]]) -> Vote:
    """Counts the votes of `voters`, pairs of similarity and labels, weighted by similarity: a voter 0.07 less similar than
    the most similar one has a third of its weight."""
    if not voters:
        return Vote({}, 0.0)
    best = max(likeness for likeness, _ in voters)
    weights = [math.exp(15.0 * (likeness - best)) for likeness, _ in voters]
    total, shares = sum(weights), dict[str, float]()
    for weight, (_, labels) in zip(weights, voters, strict=True):
        for label in labels:
            shares[label] = shares.get(label, 0.0) + weight / total
    return Vote(shares, total**2 / sum(weight**2 for weight in weights))


def tags(near: Sequence[Neighbour], said: StatedLabels, terms: CatalogTerms) -> dict[str, float]:
    """Returns the confidences of the tags in `terms` that neighbours have or the text names, highest first. Keeps a tag if
    its confidence exceeds the smaller of one half and its share in the catalogue. A short text's neighbours count less."""
    found = vote([(each.likeness, each.title.tags) for each in near if each.title.tags])
    # What a tag's log odds gain at all, for each standard error of surprise, and if the text names it.
    offset, per_surprise, stated = (-0.31, 0.44, 1.36) if found.voters else (0.0, 0.0, 2.67)
    confidences = {}
    for tag in {*found.shares, *said.tags}:
        if titles := terms.tags.get(tag, 0):
            usual = _share(titles, terms.titles)
            surprise = said.evidence_weight * found.surprise(tag, usual)
            evidence = offset + per_surprise * surprise + stated * (tag in said.tags)
            log_odds = math.log(usual / (1 - usual)) + evidence
            confidence = 1 / (1 + math.exp(-max(min(log_odds, 50.0), -50.0)))
            if confidence > min(usual, 0.5):
                confidences[tag] = confidence
    return sort_by_confidence(confidences)


def readerships(near: Sequence[Neighbour], said: StatedLabels, terms: CatalogTerms) -> dict[str, float]:
    """Returns the confidences of all readerships of the catalogue, highest first, with the sum 1; {} if there is no
    evidence."""
    found = vote([(each.likeness, (each.title.genre,)) for each in near if each.title.genre])
    if not found.voters and not said.readerships:
        return {}
    every = sum(terms.readerships.values())
    weights = {}
    for readership, titles in terms.readerships.items():
        usual = _share(titles, every)
        surprise = said.evidence_weight * found.surprise(readership, usual)
        log_odds = 0.375 * surprise + 3.0 * (readership in said.readerships)
        weights[readership] = usual * math.exp(min(log_odds, 50.0))
    total = sum(weights.values())
    return sort_by_confidence({readership: weight / total for readership, weight in weights.items()})


def sort_by_confidence(confidences: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(confidences.items(), key=lambda each: (-each[1], each[0])))


def _share(titles: int, every: int) -> float:
    return (min(titles, every) + 1) / (every + 2)


LONGEST_CHARACTERS = 500
"""Most characters of a text that are embedded, since a longer text blurs its vector and delays other texts."""
LOCAL = "local"


class LocalClassifier:
    """A `Classifier` that combines the labels of the titles nearest in meaning with the labels that the text names."""

    def __init__(self, catalog: CatalogPort) -> None:
        self._catalog = catalog

    async def classify(self, text: str, terms: CatalogTerms, deadline: Deadline) -> Classification:
        """Classifies by the nearest titles and by words. Classifies by words alone if no title is near enough, or if the
        text's vector is late, which makes the result `degraded`. Raises BackendFailure if the catalogue fails, or at the
        deadline."""
        near = await self._catalog.nearest(text[:LONGEST_CHARACTERS], 40, deadline)
        if near is None and deadline.expired():
            raise TimedOut("The catalogue did not answer in time.", dependency="catalog")
        said = await asyncio.to_thread(find_stated_labels, text)
        # Any text has nearest titles, even one that is not about manga.
        voters = near if near and near[0].likeness >= WEIGHTS.meant_at_all else ()
        late = ("vector",) if near is None else ()
        labels = readerships(voters, said, terms), tags(voters, said, terms)
        return Classification(*labels, LOCAL, late, words_alone=not near)

    async def by_words(self, text: str, terms: CatalogTerms | None) -> Classification:
        """Classifies by the labels that the text names, without a backend. If `terms` is None, all themes of the text are
        tags, each as if on one title of ten."""
        said = await asyncio.to_thread(find_stated_labels, text)
        terms = terms or CatalogTerms(dict.fromkeys(said.tags, 1), {}, dict.fromkeys(GENRES, 1), titles=10)
        labels = readerships((), said, terms), tags((), said, terms)
        return Classification(*labels, LOCAL, ("catalog",), words_alone=True)

    async def health(self, deadline: Deadline) -> Health:
        return await self._catalog.health(deadline)


class TextClassifier:
    """Classifies texts by `remote`, the configured classifier, or locally if `remote` is None. Caches local results for the
    latest texts as a fallback."""

    def __init__(self, catalog: CatalogPort, remote: Classifier | None = None) -> None:
        self._catalog, self.remote = catalog, remote
        self._local = LocalClassifier(catalog)
        self._terms: CatalogTerms | None = None
        self._at_hand: Lru[bytes, Classification] = Lru(256)

    async def classify(self, text: str, deadline: Deadline) -> Classification:
        """Returns the configured classifier's result, and caches the local one for `fall_back`. Raises BackendFailure; with
        a remote classifier, ignores a backend failure of the local one."""
        terms = await self._known_terms(deadline)
        if self.remote is None:
            return await self._locally(text, terms, deadline)
        # A fallback has no time to embed, so the local answer is computed concurrently.
        own, theirs = await asyncio.gather(
            self._locally(text, terms, deadline), self.remote.classify(text, terms, deadline), return_exceptions=True
        )
        if isinstance(own, BaseException) and not isinstance(own, BackendFailure):
            raise own
        if isinstance(theirs, BaseException):
            raise theirs
        return theirs

    async def fall_back(self, text: str) -> Classification:
        """Returns the cached local result, else a new one by words alone. Calls no backend."""
        return self._at_hand.use(_key(text)) or await self._local.by_words(text, self._terms)

    async def _locally(self, text: str, terms: CatalogTerms, deadline: Deadline) -> Classification:
        found = await self._local.classify(text, terms, deadline)
        if not found.degraded:
            self._at_hand.put(_key(text), found)
        return found

    async def _known_terms(self, deadline: Deadline) -> CatalogTerms:
        """Returns the catalogue's terms, or the last known terms if the catalogue fails. Raises BackendFailure if no terms
        are known."""
        try:
            self._terms = select_offered(await self._catalog.terms(deadline))
        except BackendFailure:
            if self._terms is None:
                raise
        return self._terms


UNLEARNABLE_TAGS = frozenset({"Award Winning"})
"""Tags of a title's success, which no description shows."""


def select_offered(terms: CatalogTerms) -> CatalogTerms:
    """Returns the terms without tags of fewer than five titles, and without `UNLEARNABLE_TAGS`."""
    tags = {tag: titles for tag, titles in terms.tags.items() if titles >= 5 and tag not in UNLEARNABLE_TAGS}
    return replace(terms, tags=tags)


def _key(text: str) -> bytes:
    """Returns a hash of the text, so that the cache holds no customer's text."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
