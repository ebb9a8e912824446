"""How candidates become recommendations: two ranked lists fused, each title with the reason that put it there.

Fusion is reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): it needs no scores that compare.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from copy import copy

from tools.recommend.taste import CustomerTaste, KnownTitle
from tools.results.cards import author_name
from tools.store.models import Title
from tools.store.search.text.characters import has_cjk, normalise

RRF_K = 60
CRITERIA_WEIGHT = 1.0
TASTE_WEIGHT = 0.6
BOTH_MATTER_TAGS = 3


def rank(hits: Sequence[Title], to_taste: Sequence[Title]) -> list[Title]:
    """All candidates, best first."""
    titles = {title.title_id: title for title in (*to_taste, *hits)}
    scores = dict.fromkeys(titles, 0.0)
    for number, title in enumerate(hits):
        scores[title.title_id] += CRITERIA_WEIGHT / (RRF_K + number)
    for number, title in enumerate(to_taste):
        scores[title.title_id] += TASTE_WEIGHT / (RRF_K + number)
    order = sorted(titles, key=lambda i: (-scores[i], titles[i].popularity_rank or 10**9, i))
    return [titles[i] for i in order]


class Excluded:
    """Titles that are not to be recommended: those with these ids, and those that go by these names in any script.

    The names are read once, and only as many of a title's own as it takes: there may be fifty of three hundred characters,
    and hundreds of candidates.
    """

    def __init__(self, title_ids: Iterable[str], named: Iterable[str]) -> None:
        asked = tuple(named)
        self._ids = frozenset((*title_ids, *asked))
        self._names = frozenset(map(normalise, asked))

    def and_these(self, titles: Iterable[Title]) -> Excluded:
        more = copy(self)
        more._ids = self._ids.union(title.title_id for title in titles)
        return more

    def __contains__(self, title: Title) -> bool:
        if title.title_id in self._ids:
            return True
        return bool(self._names) and any(normalise(name) in self._names for name in _names_of(title))


def _names_of(title: Title) -> tuple[str, ...]:
    return tuple(name for name in (title.en, title.romaji, title.ja, title.kana, *title.alt_titles) if name)


_LIKING = re.compile(
    r"\b(?:like[sd]?|love[sd]?|enjoy(?:s|ed)?|read|finished|fans? of|similar to|such as|after|favou?rites?)\b"
    r"|みたい|のよう|っぽい|似た|似て|好き|読んだ|読み終|ハマ"
)
_BETWEEN_WORDS = re.compile(r"[\W_]+")
SHORTEST_NAME = 3


def named_as_liked(titles: Iterable[Title], criteria: str) -> tuple[Title, ...]:
    """Those of the titles that the criteria name to say what is liked ("like Berserk", "I loved Naruto and Bleach"), or
    consist of. Whoever says so knows them. Without such a word a name is only a word: "drama from real life" is not `Real`.
    """
    text = _spaced(criteria)
    says_so = _LIKING.search(text) is not None
    return tuple(
        t for t in titles if any(_stands_in(name, text, alone=not says_so) for name in (t.en, t.romaji, t.ja) if name)
    )


def _stands_in(name: str, text: str, *, alone: bool) -> bool:
    spaced = _spaced(name)
    if alone or len(spaced.strip()) < SHORTEST_NAME:
        return spaced == text
    return (spaced.strip() if has_cjk(spaced) else spaced) in text


def _spaced(text: str) -> str:
    return f" {_BETWEEN_WORDS.sub(' ', normalise(text)).strip()} "


def reason(title: Title, criteria: str | None, customer: CustomerTaste) -> str:
    """In English, from facts alone."""
    parts = [f"fits “{criteria[:80]}”"] if criteria else []
    if title.title_id in customer.viewed:
        parts.append("is one that you looked at before")
    elif same := _by_same_author(title, customer):
        parts.append(f"is by {same[0]}, who also made {_with_you(same[1])}")
    elif alike := _most_alike(title, customer):
        parts.append(f"shares {', '.join(alike[0])} with {_with_you(alike[1])}")
    elif not criteria and title.tags:
        parts.append(f"is known for {', '.join(title.tags[:BOTH_MATTER_TAGS])}")
    sentence = " and ".join(parts) or "is popular with the store's readers"
    rated = f" Rated {title.rating:g} of 5." if title.rating is not None and title.rating >= 4 else ""
    return sentence[0].upper() + sentence[1:] + "." + rated


def _with_you(known: KnownTitle) -> str:
    return f"{known.title.display}, which you {known.did}"


def _by_same_author(title: Title, customer: CustomerTaste) -> tuple[str, KnownTitle] | None:
    for known in customer.known:
        theirs = {author.name for author in known.title.authors}
        for author in title.authors:
            if author.name in theirs:
                return author_name(author), known
    return None


def _most_alike(title: Title, customer: CustomerTaste) -> tuple[list[str], KnownTitle] | None:
    tags = frozenset(title.tags)
    known = max(customer.known, key=lambda known: len(tags.intersection(known.title.tags)), default=None)
    if known is None:
        return None
    theirs = frozenset(known.title.tags)
    shared = [tag for tag in title.tags if tag in theirs]
    return (shared[:BOTH_MATTER_TAGS], known) if len(shared) >= 2 else None
