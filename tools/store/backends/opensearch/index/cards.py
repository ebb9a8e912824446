"""What a hit is ranked by and held against conditions by, as a column of its document keeps it.

A hit is ranked here, in this process, by the numbers that the embedded catalogue would give it; the card has the keys this
takes, since making them from names costs ten times as long as reading them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from sys import intern
from typing import Any

from tools.store.backends.opensearch.index.packing import packed, unpacked
from tools.store.models import Audience, Status, Title
from tools.store.search.conditions.facts import Facts
from tools.store.search.conditions.sales import Sale
from tools.store.search.titles.keys import TitleKeys
from tools.store.search.titles.names import NameKeys
from tools.store.search.titles.people import AuthorKeys

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Card:
    """`place` is the title's in the catalogue file. `series` are ids of its series (`SeriesIndex`; `kin` in stored cards),
    `related` those that the catalogue itself names. `prose`: weighted terms."""

    keys: TitleKeys
    facts: Facts
    place: int
    related: tuple[str, ...]
    series: tuple[str, ...]
    prose: Mapping[str, float]


def packed_card(
    title: Title, keys: TitleKeys, facts: Facts, place: int, series: Sequence[str], terms: Mapping[str, float]
) -> str:
    return packed(
        {
            "whole": keys.names.whole,
            "main": keys.names.main,
            "authors": [(sorted(author.parts), author.spellings) for author in keys.authors],
            "tags": sorted(keys.tags),
            "genre": keys.genre,
            "prior": keys.prior,
            "facts": _stored(facts),
            "place": place,
            "related": title.related,
            "kin": series,
            "prose": terms,
        }
    )


def card_from(column: str) -> Card:
    """Raises LookupError, TypeError and ValueError for what is no card."""
    card = json.loads(unpacked(column))
    authors = tuple(AuthorKeys(frozenset(parts), tuple(spellings)) for parts, spellings in card["authors"])
    names = NameKeys(tuple(card["whole"]), tuple(card["main"]))
    prose = {intern(term): weight for term, weight in card["prose"].items()}
    keys = TitleKeys(names, authors, frozenset(card["tags"]), card["genre"], float(card["prior"]))
    facts = _facts(card["facts"], keys)
    return Card(keys, facts, int(card["place"]), tuple(card["related"]), tuple(card["kin"]), prose)


def _stored(facts: Facts) -> Json:
    """What the keys do not have."""
    return {
        "id": facts.title_id,
        "rating": facts.rating,
        "status": facts.status,
        "volumes": facts.volumes,
        "year": facts.year,
        "audience": facts.audience,
        "magazine": facts.magazine,
        "sales": [astuple(sale) for sale in facts.sales],
    }


def _facts(stored: Json, keys: TitleKeys) -> Facts:
    return Facts(
        title_id=stored["id"],
        genre=keys.genre,
        rating=stored["rating"],
        status=None if stored["status"] is None else Status(stored["status"]),
        volumes=stored["volumes"],
        year=stored["year"],
        audience=None if stored["audience"] is None else Audience(stored["audience"]),
        magazine=stored["magazine"],
        tags=keys.tags,
        authors=keys.authors,
        sales=tuple(map(_sale, stored["sales"])),
    )


def _sale(stored: Sequence[Any]) -> Sale:
    format_, price, stocked, days = stored
    return Sale(format_, price, stocked, tuple((first, last) for first, last in days))
