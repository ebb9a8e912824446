"""Titles to documents and back.

A document holds what OpenSearch searches and filters by, and JSON that it only keeps: the title's record (the import format,
offers included; as it is for people, packed for hits) and its card (cards.py).
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.store.backends.opensearch.errors import MalformedAnswer
from tools.store.backends.opensearch.index.cards import packed_card
from tools.store.backends.opensearch.index.definition import HEADLINE
from tools.store.backends.opensearch.index.fact_fields import fact_fields
from tools.store.backends.opensearch.index.packing import packed, unpacked
from tools.store.models import Author, Offer, Title
from tools.store.records.title import record_of, stored_title
from tools.store.search.conditions.facts import Facts
from tools.store.search.ranking.orderings import weighted_rating
from tools.store.search.text.characters import has_kanji
from tools.store.search.text.loanwords import MIN_CONSONANTS, consonants
from tools.store.search.text.tokens import grams
from tools.store.search.titles.called import family_key
from tools.store.search.titles.document import prose_terms
from tools.store.search.titles.keys import TitleKeys
from tools.store.search.titles.names import NameKeys
from tools.store.search.titles.people import AuthorKeys

Floats = NDArray[np.float32]
Json = dict[str, Any]
_UNRANKED = 10**9


def title_from(column: str) -> Title:
    """The title of one packed record, checked likewise. Raises MalformedAnswer."""
    (title,) = titles_from([column])
    return title


def titles_from(columns: Sequence[str]) -> tuple[Title, ...]:
    """The titles of packed records. Raises MalformedAnswer."""
    try:
        return tuple(stored_title(unpacked(each)) for each in columns)
    except ValueError as error:
        raise MalformedAnswer("a record is none") from error


def document(title: Title, offers: Sequence[Offer], place: int, series: Sequence[str], vectors: Floats | None) -> Json:
    """`vectors`: the headline's, then those of the passages, of unit length; None without any."""
    keys, terms, record = TitleKeys.of(title), prose_terms(title), record_of(title, offers)
    facts = Facts.of(title, offers, keys.authors)
    return {
        **fact_fields(facts),
        **({} if title.rating is None else {"weighted_rating": weighted_rating(title)}),
        "prior": keys.prior,
        "rank": title.popularity_rank or _UNRANKED,
        "place": place,
        "prose_length": sum(terms.values()),
        # Weights are halves, and a term can only stand there so many times: twice the weight.
        "prose": " ".join(f"{term} " * round(2 * weight) for term, weight in terms.items()),
        "names": [_name(key, main) for main, group in _names(keys.names) for key in group],
        "people": [_person(author, theirs) for author, theirs in zip(title.authors, keys.authors, strict=True)],
        "card": packed_card(title, keys, facts, place, series, terms),
        "packed": packed(record),
        "record": record,
        **(_senses(vectors) if vectors is not None else {}),
    }


def direction_from(text: str | None) -> Floats | None:
    """The unit vector that a whole title points to, where the index has vectors."""
    return None if text is None else np.frombuffer(b64decode(text), np.float16).astype(np.float32)


def _names(names: NameKeys) -> tuple[tuple[bool, tuple[str, ...]], ...]:
    """Whole names, and those before a subtitle, which are `main`."""
    return (False, names.whole), (True, names.main)


def _name(key: str, main: bool) -> Json:
    skeleton = consonants(key) if key.isascii() else ""
    loan = {"loan": skeleton} if len(skeleton) >= MIN_CONSONANTS else {}
    return {"key": key, "main": main, "grams": " ".join(grams(key)), **loan}


def _person(author: Author, keys: AuthorKeys) -> Json:
    return {
        "name": author.name,
        "family": family_key(author),
        "spellings": keys.spellings,
        "turned": [spelling[::-1] for spelling in keys.spellings if has_kanji(spelling)],
        "parts": sorted(keys.parts),
        "grams": " ".join(dict.fromkeys(gram for spelling in keys.spellings for gram in grams(spelling))),
    }


def _senses(vectors: Floats) -> Json:
    headline, passages = np.float32(HEADLINE) * vectors[0], vectors[1:]
    senses = (passages + headline if len(passages) else headline[None]) / np.float32(1.0 + HEADLINE)
    total = vectors.sum(axis=0)
    direction = (total / max(1e-6, float(np.linalg.norm(total)))).astype(np.float16)
    return {
        "senses": [{"vector": [round(float(x), 6) for x in sense]} for sense in senses],
        "direction": b64encode(direction.tobytes()).decode(),
    }
