"""The searches that recall candidates: each finds the best of one kind, generously; the ranking is done here afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.store.backends.opensearch.filters import (
    NOTHING,
    author_query,
    begins_or_ends,
    constant,
    either,
    filter_queries,
    nested,
    prefix,
    term,
)
from tools.store.backends.opensearch.index import FOUND, ID
from tools.store.models import Filters, Ordering
from tools.store.search.loans import MIN_CONSONANTS, consonants, is_loan
from tools.store.search.naming import TYPO_LENGTHS
from tools.store.search.people import AskedName
from tools.store.search.query import ParsedQuery
from tools.store.search.romaji import sound_key
from tools.store.search.text import has_kanji
from tools.store.search.tokens import grams

Json = dict[str, Any]
RECALL = 80
MOST_TERMS = 120
"""So many terms of a description are looked for; queries are at most 400 characters."""
_MOST_SENSES = 10_000
_LONGEST_CJK_NAME = 12
_ENOUGH_GRAMS, _LONG_KEY = 4, 16
BY_FAME: list[Json] = [{"prior": "desc"}, {"rank": "asc"}, {"place": "asc"}]


def search(query: Json, filters: Sequence[Json], size: int, **more: Any) -> Json:
    """The best `size` hits of `query` among what passes all `filters`, by their ids alone."""
    return {
        "query": {"bool": {"must": [query], "filter": list(filters)}},
        "size": size,
        "track_total_hits": False,
        **columns(ID),
        **more,
    }


def columns(*names: str) -> Json:
    """These columns of each hit, and nothing of the document."""
    return {"stored_fields": "_none_", "docvalue_fields": list(names)}


def column(hit: Mapping[str, Any], name: str) -> str:
    """Raises LookupError and TypeError for a hit that is none of ours."""
    return str(hit["fields"][name][0])


def lexical(reading: ParsedQuery, filters: Filters, aliases: Sequence[str]) -> dict[str, Json]:
    """The searches for a query that asks for something, by the name of what they find.

    `aliases` are keys that the title which the query points from may be known by.
    """
    allowed = filter_queries(filters)
    keys = [*reading.names, *reading.aliases]
    found = {
        "names": search(called(keys, reading.core), allowed, RECALL, sort=_BEST_KNOWN),
        "people": search(named(AskedName(reading.author or reading.core)), allowed, RECALL, sort=_BEST_KNOWN),
    }
    for i, (author, rest) in enumerate(name_and_author(reading.core)):
        found[f"works{i}"] = search(called([sound_key(rest)], rest), [*allowed, author_query(author)], RECALL // 2)
    for which, terms in (("words", reading.terms), ("translated", reading.translated)):
        if terms:
            found[which] = search(told(terms), allowed, RECALL)
    if reading.themes or reading.genre:
        found["tags"] = _tagged(reading, allowed)
    if pointed := reading.same_author_as or reading.similar_to:
        anchor = search(called([sound_key(pointed), *aliases], pointed), [], RECALL // 4)
        found["anchor"] = {**anchor, **columns(*FOUND), "stored_fields": [], "_source": ["direction"]}
    return found


def called(keys: Sequence[str], text: str) -> Json:
    """Titles with a name like one of `keys`: it, what begins with it, what shares many grams, what `text` spells.

    Grams are costly, and the keys after the first are other ways to write it: those are looked for as they stand.
    """
    likely = [_named(key) for key in keys if key]
    skeleton = consonants(text) if is_loan(text) else ""
    if len(skeleton) >= MIN_CONSONANTS:
        likely.append(constant(term("names.loan", skeleton), 300.0))
    if likely and keys[0]:
        likely.append(_shares_grams("names.grams", keys[0]))
    return nested("names", {"dis_max": {"queries": likely}}) if likely else NOTHING


def _named(key: str) -> Json:
    return either([constant(term("names.key", key), 1000.0), constant(prefix("names.key", key), 200.0)])


def _shares_grams(field: str, key: str) -> Json:
    """The longest grams alone, where there are enough of them: short ones are in half of all names."""
    found = list(dict.fromkeys(grams(key)))
    longest = [gram for gram in found if len(gram) == len(found[-1])]
    told = longest if len(longest) >= _ENOUGH_GRAMS else found
    least = "25%" if len(key) < _LONG_KEY else "35%"
    return {"match": {field: {"query": " ".join(told), "minimum_should_match": least}}}


def named(asked: AskedName) -> Json:
    """Titles by an author who may be the asked one; nothing when there is no word in it."""
    key = asked.key
    likely = [constant(term("people.spellings", key), 100.0)]
    likely += [constant(term("people.parts", word), 5.0) for word in asked.words]
    if has_kanji(key):
        sizes = range(3, min(_LONGEST_CJK_NAME, len(key)) + 1)
        inside = sorted({key[i : i + n] for n in sizes for i in range(len(key) - n + 1)})
        likely.append(constant({"terms": {"people.spellings": inside}}, 20.0))
        likely += [constant(q, 10.0) for word in asked.words if len(word) >= 2 for q in begins_or_ends(word)]
    if len(key) in TYPO_LENGTHS:
        likely.append(_shares_grams("people.grams", key))
    return nested("people", either(likely)) if key else NOTHING


def name_and_author(core: str) -> list[tuple[str, str]]:
    """'berserk miura', 'モンスター 浦沢': which word may be an author and what is then the name, each way round."""
    words = core.split()
    if not 2 <= len(words) <= 4:
        return []
    return [(words[i], " ".join(words[:i] + words[i + 1 :])) for i in (0, len(words) - 1)]


def told(terms: Iterable[str]) -> Json:
    """Titles whose text has some of `terms`."""
    return either([term("prose", each) for each in list(terms)[:MOST_TERMS]])


def frequencies(terms: Sequence[str]) -> Json:
    """In how many titles each term is: an aggregation `df` with a bucket for each, named by its place."""
    asked = {str(i): term("prose", each) for i, each in enumerate(terms)}
    return {"size": 0, "track_total_hits": False, "aggs": {"df": {"filters": {"filters": asked}}}}


def _tagged(reading: ParsedQuery, allowed: Sequence[Json]) -> Json:
    """Titles with the most of the query's themes, the best known first where no other ordering is asked for. `all` counts
    those that have every one."""
    themes: list[Json] = [{"terms": {"tags": list(tags)}} for tags in reading.themes]
    if reading.genre is not None:
        themes.append(term("genre", reading.genre))
    count = {"all": {"filter": {"bool": {"filter": themes}}}}
    sort = [{"_score": "desc"}, *by(reading.ordering)]
    return search(either([constant(theme, 1.0) for theme in themes]), allowed, RECALL, sort=sort, aggs=count)


_BEST_KNOWN: list[Json] = [{"_score": "desc"}, *BY_FAME]
_COLUMNS = {Ordering.RATING: "weighted_rating", Ordering.NEWEST: "start_year"}


def by(ordering: Ordering | None) -> list[Json]:
    """As `tools.store.search.orderings.in_order` has it: what is not known of a title puts it last."""
    column_of = None if ordering is None else _COLUMNS.get(ordering)
    return BY_FAME if column_of is None else [{column_of: {"order": "desc", "missing": "_last"}}, *BY_FAME]


def popular(filters: Filters, limit: int, ordering: Ordering | None = None) -> Json:
    """The best known under the filters, or the first by another ordering, and how many there are."""
    body = search({"match_all": {}}, filter_queries(filters), limit, sort=by(ordering))
    return {**body, "track_total_hits": True, **columns("packed")}


def with_ids(title_ids: Sequence[str], names: Sequence[str] = FOUND) -> Json:
    """These columns of these titles: everything that is kept for hits, where not said otherwise."""
    return {**search({"terms": {ID: list(title_ids)}}, [], max(1, len(title_ids))), **columns(*names)}


def by_authors_of(spellings: Sequence[str], filters: Filters) -> Json:
    """All works of the authors with these spellings."""
    query = nested("people", {"terms": {"people.spellings": list(spellings)}})
    return search(query, filter_queries(filters), 2 * RECALL, sort=BY_FAME)


def nearest(vector: NDArray[np.float32], filters: Sequence[Json], size: int) -> Json:
    """The `size` titles with the sense nearest to `vector`."""
    return search(_senses(vector, filters, size), [], size)


def sense_of(vector: NDArray[np.float32], title_ids: Sequence[str]) -> Json:
    """How near each of these titles is to `vector`: as many neighbours are asked for as they can have, which is exact."""
    filters = [{"terms": {ID: list(title_ids)}}]
    return search(_senses(vector, filters, min(_MOST_SENSES, 16 * len(title_ids))), [], len(title_ids))


def _senses(vector: NDArray[np.float32], filters: Sequence[Json], k: int) -> Json:
    asked: Mapping[str, Any] = {"vector": vector.astype(np.float64).round(6).tolist(), "k": k}
    among = {"filter": {"bool": {"filter": list(filters)}}} if filters else {}
    return nested("senses", {"knn": {"senses.vector": {**asked, **among}}})


def cosine_of(score: float) -> float:
    """The inner product behind a score of OpenSearch's `innerproduct` space: 1 + x for x ≥ 0, else 1 / (1 − x)."""
    return score - 1.0 if score >= 1.0 else 1.0 - 1.0 / max(score, 1e-9)
