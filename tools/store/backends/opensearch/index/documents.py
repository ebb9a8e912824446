"""Titles to documents and back.

A document holds what OpenSearch searches by, and JSON that it only keeps: the title's record (the import format, offers
included; as it is for people, packed for hits) and its card. A hit is ranked here, in this process, by the numbers that the
embedded catalogue would give it; the card has the keys this takes, since making them from names costs ten times as long as
reading them.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from sys import intern
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.store.backends.opensearch.errors import MalformedAnswer
from tools.store.backends.opensearch.index.definition import HEADLINE
from tools.store.models import Offer, Title
from tools.store.records.title import record_of, stored_title
from tools.store.search.conditions import Facts
from tools.store.search.ranking.orderings import weighted_rating
from tools.store.search.text.characters import has_kanji
from tools.store.search.text.loanwords import MIN_CONSONANTS, consonants
from tools.store.search.text.tokens import grams
from tools.store.search.titles.document import prose_terms
from tools.store.search.titles.keys import TitleKeys
from tools.store.search.titles.names import NameKeys
from tools.store.search.titles.people import AuthorKeys

Floats = NDArray[np.float32]
Json = dict[str, Any]
_UNRANKED = 10**9


@dataclass(frozen=True, slots=True)
class Card:
    """`place` is the title's in the catalogue file. `series` are ids of its series (`SeriesIndex`; `kin` in stored cards),
    `related` those that the catalogue itself names. `prose`: weighted terms."""

    keys: TitleKeys
    place: int
    rating: float | None
    related: tuple[str, ...]
    series: tuple[str, ...]
    prose: Mapping[str, float]

    @property
    def facts(self) -> Facts:
        return Facts(self.keys.genre, self.rating, self.keys.authors)


def title_from(packed: str) -> Title:
    """The title of one packed record, checked likewise. Raises MalformedAnswer."""
    (title,) = titles_from([packed])
    return title


def titles_from(packed: Sequence[str]) -> tuple[Title, ...]:
    """The titles of packed records. Raises MalformedAnswer."""
    try:
        return tuple(stored_title(_unpacked(each)) for each in packed)
    except ValueError as error:
        raise MalformedAnswer("a record is none") from error


def document(title: Title, offers: Sequence[Offer], place: int, series: Sequence[str], vectors: Floats | None) -> Json:
    """`vectors`: the headline's, then those of the passages, of unit length; None without any."""
    keys, terms, record = TitleKeys.of(title), prose_terms(title), record_of(title, offers)
    return {
        "title_id": title.title_id,
        **_given(genre=title.genre, rating=title.rating, start_year=title.start_year),
        **({} if title.rating is None else {"weighted_rating": weighted_rating(title)}),
        "tags": list(dict.fromkeys(title.tags)),
        "prior": keys.prior,
        "rank": title.popularity_rank or _UNRANKED,
        "place": place,
        "prose_length": sum(terms.values()),
        # Weights are halves, and a term can only stand there so many times: twice the weight.
        "prose": " ".join(f"{term} " * round(2 * weight) for term, weight in terms.items()),
        "names": [_name(key) for key in (*keys.names.whole, *keys.names.main)],
        "people": [_person(author.name, AuthorKeys.of(author)) for author in title.authors],
        "card": _packed(_card(title, keys, place, series, terms)),
        "packed": _packed(record),
        "record": record,
        **(_senses(vectors) if vectors is not None else {}),
    }


def card_from(packed: str) -> Card:
    """Raises LookupError, TypeError and ValueError for what is no card."""
    card = json.loads(_unpacked(packed))
    authors = tuple(AuthorKeys(frozenset(parts), tuple(spellings)) for parts, spellings in card["authors"])
    names = NameKeys(tuple(card["whole"]), tuple(card["main"]))
    prose = {intern(term): weight for term, weight in card["prose"].items()}
    keys = TitleKeys(names, authors, frozenset(card["tags"]), card["genre"], float(card["prior"]))
    return Card(keys, int(card["place"]), card["rating"], tuple(card["related"]), tuple(card["kin"]), prose)


def direction_from(text: str | None) -> Floats | None:
    """The unit vector that a whole title points to, where the index has vectors."""
    return None if text is None else np.frombuffer(b64decode(text), np.float16).astype(np.float32)


def _packed(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return b64encode(zlib.compress(text.encode("utf-8", "replace"))).decode()


def _unpacked(packed: str) -> bytes:
    """Columns come back without the padding of their base64."""
    try:
        return zlib.decompress(b64decode(packed + "=="))
    except zlib.error as error:
        raise ValueError("not packed") from error


def _card(title: Title, keys: TitleKeys, place: int, series: Sequence[str], terms: Mapping[str, float]) -> Json:
    return {
        "whole": keys.names.whole,
        "main": keys.names.main,
        "authors": [(sorted(author.parts), author.spellings) for author in keys.authors],
        "tags": sorted(keys.tags),
        "genre": keys.genre,
        "prior": keys.prior,
        "rating": title.rating,
        "place": place,
        "related": title.related,
        "kin": series,
        "prose": terms,
    }


def _name(key: str) -> Json:
    skeleton = consonants(key) if key.isascii() else ""
    return {"key": key, "grams": " ".join(grams(key)), **({"loan": skeleton} if len(skeleton) >= MIN_CONSONANTS else {})}


def _person(name: str, keys: AuthorKeys) -> Json:
    return {
        "name": name,
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


def _given(**values: Any) -> Json:
    return {name: value for name, value in values.items() if value is not None}
