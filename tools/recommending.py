"""How candidates become recommendations: two ranked lists fused, each title with the reason that put it there.

Fusion is reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): it needs no scores that compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tools.models import Title
from tools.presentation import author_name
from tools.search.text import normalise
from tools.taste import Known, Reader

RRF_K = 60
CRITERIA_WEIGHT = 1.0
TASTE_WEIGHT = 0.6
BOTH_MATTER_TAGS = 3


@dataclass(frozen=True, slots=True)
class Ranked:
    title: Title
    reason: str


def rank(criteria: str, hits: Sequence[Title], kindred: Sequence[Title], reader: Reader) -> list[Ranked]:
    """All candidates, best first."""
    titles = {title.title_id: title for title in (*kindred, *hits)}
    scores = dict.fromkeys(titles, 0.0)
    for place, title in enumerate(hits):
        scores[title.title_id] += CRITERIA_WEIGHT / (RRF_K + place)
    for place, title in enumerate(kindred):
        scores[title.title_id] += TASTE_WEIGHT / (RRF_K + place)
    matched = {title.title_id for title in hits}
    order = sorted(titles, key=lambda i: (-scores[i], titles[i].popularity_rank or 10**9, i))
    return [Ranked(titles[i], reason(titles[i], criteria if i in matched else None, reader)) for i in order]


def reason(title: Title, criteria: str | None, reader: Reader) -> str:
    """In English, from facts alone."""
    parts = [f"fits “{criteria[:80]}”"] if criteria else []
    if title.title_id in reader.viewed:
        parts.append("is one that you looked at before")
    elif same := _by_same_author(title, reader):
        parts.append(f"is by {same[0]}, who also made {_with_you(same[1])}")
    elif alike := _most_alike(title, reader):
        parts.append(f"shares {', '.join(alike[0])} with {_with_you(alike[1])}")
    elif not criteria and title.tags:
        parts.append(f"is known for {', '.join(title.tags[:BOTH_MATTER_TAGS])}")
    sentence = " and ".join(parts) or "is popular with the store's readers"
    rated = f" Rated {title.rating:g} of 5." if title.rating is not None and title.rating >= 4 else ""
    return sentence[0].upper() + sentence[1:] + "." + rated


def _with_you(known: Known) -> str:
    return f"{known.title.display}, which you {known.did}"


def _by_same_author(title: Title, reader: Reader) -> tuple[str, Known] | None:
    for known in reader.known:
        for author in title.authors:
            if any(author.name == other.name for other in known.title.authors):
                return author_name(author), known
    return None


def _most_alike(title: Title, reader: Reader) -> tuple[list[str], Known] | None:
    shared = [([tag for tag in title.tags if tag in known.title.tags], known) for known in reader.known]
    tags, known = max(shared, key=lambda each: len(each[0]), default=([], None))
    return (tags[:BOTH_MATTER_TAGS], known) if known is not None and len(tags) >= 2 else None


def is_named(title: Title, name: str) -> bool:
    """Whether `name` is this title's id or one of its names in any script."""
    if name == title.title_id:
        return True
    wanted = normalise(name)
    names = (title.en, title.romaji, title.ja, title.kana, *title.alt_titles)
    return any(normalise(each) == wanted for each in names if each)
