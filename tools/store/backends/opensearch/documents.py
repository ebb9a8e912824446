"""Converts titles to OpenSearch documents and back.

A document has fields to search and filter by, and data that OpenSearch only stores: the title's record with its offers (as
plain JSON, and compressed as `packed`), and its card, the compressed data by which this process ranks the title."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from sys import intern

import numpy as np

from tools.store.backends.opensearch.client import MalformedAnswer
from tools.store.backends.opensearch.definition import HEADLINE, Json
from tools.store.models import Audience, Author, Offer, Status, Title
from tools.store.records.catalog_file import record_of, stored_title
from tools.store.search.columns import Floats
from tools.store.search.conditions.check import Facts, Sale, series_price
from tools.store.search.ranking.candidates import weighted_rating
from tools.store.search.text.characters import has_kanji
from tools.store.search.text.romaji import MIN_CONSONANTS, consonants
from tools.store.search.text.tokens import grams
from tools.store.search.titles.document import AuthorKeys, prose_terms
from tools.store.search.titles.names import NameKeys, family_key, prior


def pack_json(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return b64encode(zlib.compress(text.encode("utf-8", "replace"))).decode()


def unpack_column(column: str) -> bytes:
    """Decompresses a column made by `pack_json`, from which OpenSearch drops the base64 padding. Raises ValueError for any
    other text."""
    try:
        return zlib.decompress(b64decode(column + "=="))
    except zlib.error as error:
        raise ValueError("not packed") from error


def fact_fields(facts: Facts) -> Json:
    """Returns the fields of the known facts. `length` is the number of volumes, absent for 0, to sort short titles first.
    `sales` has an entry for each sale; `usual` marks the format that counts if a query states no format."""
    numbers = {"rating": facts.rating, "start_year": facts.year, "volumes": facts.volumes, "length": facts.volumes or None}
    words = {
        "genre": facts.genre,
        "status": facts.status,
        "audience": facts.audience,
        "magazine": _one_or_all(facts.magazine),
    }
    known = {name: value for name, value in {**numbers, **words}.items() if value is not None}
    return {"title_id": facts.title_id, **known, "tags": sorted(facts.tags), "sales": _sales(facts)}


def _one_or_all(names: Sequence[str]) -> str | Sequence[str] | None:
    """Returns the only name as a str, as the previous release expects, or all of several names; None for no names."""
    return names[0] if len(names) == 1 else names or None


def _sales(facts: Facts) -> list[Json]:
    usual = facts.sold_as(None)
    return [
        {
            "format": sale.format,
            "usual": usual is not None and sale.format == usual.format,
            "price": sale.price,
            **({} if (whole := series_price(sale, facts.volumes)) is None else {"series_price": whole}),
            "stocked": sale.stocked,
            "days": [{"gte": first, "lte": last} for first, last in sale.days],
        }
        for sale in facts.sales
    ]


@dataclass(frozen=True, slots=True)
class Card:
    """The data by which a title is ranked. `prior` is its fame from 0 to 1, `place` its position in the catalogue file,
    `series` the ids of other titles of its series (`kin` in stored cards), `related` ids that the catalogue relates to it,
    `prose` its index terms with their weights."""

    names: NameKeys
    prior: float
    facts: Facts
    place: int
    related: tuple[str, ...]
    series: tuple[str, ...]
    prose: Mapping[str, float]


def card_from(column: str) -> Card:
    """Decodes a card. Raises LookupError, TypeError and ValueError for a malformed one."""
    card = json.loads(unpack_column(column))
    names = NameKeys(tuple(card["whole"]), tuple(card["main"]))
    prose = {intern(term): weight for term, weight in card["prose"].items()}
    related, series = tuple(card["related"]), tuple(card["kin"])
    return Card(names, float(card["prior"]), _facts(card), int(card["place"]), related, series, prose)


def _select_stored(facts: Facts) -> Json:
    return {
        "id": facts.title_id,
        "rating": facts.rating,
        "status": facts.status,
        "volumes": facts.volumes,
        "year": facts.year,
        "audience": facts.audience,
        "magazine": _one_or_all(facts.magazine),
        "sales": [astuple(sale) for sale in facts.sales],
    }


def _facts(card: Json) -> Facts:
    stored = card["facts"]
    return Facts(
        title_id=stored["id"],
        genre=card["genre"],
        rating=stored["rating"],
        status=None if stored["status"] is None else Status(stored["status"]),
        volumes=stored["volumes"],
        year=stored["year"],
        audience=None if stored["audience"] is None else Audience(stored["audience"]),
        magazine=(named,) if isinstance(named := stored["magazine"], str) else tuple(named or ()),
        tags=frozenset(card["tags"]),
        authors=tuple(AuthorKeys(frozenset(parts), tuple(spellings)) for parts, spellings in card["authors"]),
        sales=tuple(
            Sale(format_, price, stocked, tuple((first, last) for first, last in days))
            for format_, price, stocked, days in stored["sales"]
        ),
    )


def titles_from(columns: Sequence[str]) -> tuple[Title, ...]:
    """Decodes packed records. Raises MalformedAnswer if one is damaged."""
    try:
        return tuple(stored_title(unpack_column(each)) for each in columns)
    except ValueError as error:
        raise MalformedAnswer("a record is none") from error


def document(title: Title, offers: Sequence[Offer], place: int, series: Sequence[str], vectors: Floats | None) -> Json:
    """Makes a title's document. `vectors` has rows of unit length, the headline's and then those of the passages; None
    without an embedder."""
    keys, terms, record = NameKeys.of(title), prose_terms(title), record_of(title, offers)
    facts, fame = Facts.from_title(title, offers), prior(title)
    return {
        **fact_fields(facts),
        **({} if title.rating is None else {"weighted_rating": weighted_rating(title)}),
        "prior": fame,
        "rank": title.popularity_rank or 10**9,
        "place": place,
        "prose_length": sum(terms.values()),
        # Weights are multiples of a half, and a term is repeated a whole number of times: twice its weight.
        "prose": " ".join(f"{term} " * round(2 * weight) for term, weight in terms.items()),
        "names": [_name(key, main) for main, group in ((False, keys.whole), (True, keys.main)) for key in group],
        "people": [_person(author, theirs) for author, theirs in zip(title.authors, facts.authors, strict=True)],
        "card": pack_json(
            {
                "whole": keys.whole,
                "main": keys.main,
                "authors": [(sorted(author.parts), author.spellings) for author in facts.authors],
                "tags": sorted(facts.tags),
                "genre": facts.genre,
                "prior": fame,
                "facts": _select_stored(facts),
                "place": place,
                "related": title.related,
                "kin": series,
                "prose": terms,
            }
        ),
        "packed": pack_json(record),
        "record": record,
        **(_senses(vectors) if vectors is not None else {}),
    }


def direction_from(text: str | None) -> Floats | None:
    """Decodes the unit vector of a title's meaning. None, from an index without vectors, stays None."""
    return None if text is None else np.frombuffer(b64decode(text), np.float16).astype(np.float32)


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
