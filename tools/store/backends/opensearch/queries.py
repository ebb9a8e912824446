"""Builds the searches for candidate titles: by name, author, words and tags, by similarity to a title, and by a reader's
taste."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools.store.backends.opensearch.definition import FOUND, ID, Json
from tools.store.backends.opensearch.dsl import (
    BEST_KNOWN_FIRST,
    BY_FAME,
    NOTHING,
    author_query,
    begins_or_ends,
    column,
    columns,
    constant,
    either,
    filter_queries,
    match_nested,
    order_by,
    prefix,
    search,
    term,
    terms,
)
from tools.store.models import Conditions, NameMatches, ReaderQuery
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.ranking.names import TYPO_LENGTHS, AskedAuthor
from tools.store.search.ranking.weights import WEIGHTS
from tools.store.search.taste import TASTE, Profile
from tools.store.search.text.characters import has_kanji
from tools.store.search.text.readings import readings
from tools.store.search.text.romaji import MIN_CONSONANTS, consonants, is_loanword, sound_key
from tools.store.search.text.tokens import grams
from tools.store.search.titles.names import MOST_TITLES, ExactName

_WHOLE, _MAIN, _AUTHOR, _FAMILY = "whole", "main", "author", "family"


def aggregate_names(names: Mapping[str, ExactName]) -> Json:
    """Returns a search that looks up exact names, with a bucket of the most popular titles for each name and kind of
    match."""
    asked = {f"{way} {place}": query for place, name in enumerate(names.values()) for way, query in _ways(name).items()}
    titles = {"top_hits": {"size": MOST_TITLES, "sort": BY_FAME, **columns(ID)}}
    buckets = {"filters": {"filters": asked}, "aggs": {"titles": titles}}
    query = {"bool": {"filter": [either(list(asked.values()))]}}
    return {"query": query, "size": 0, "track_total_hits": False, "aggs": {"names": buckets}}


def matches_from(answer: Mapping[str, Any], names: Mapping[str, ExactName]) -> dict[str, NameMatches]:
    """Reads the matches of each name from the answer to `aggregate_names`. Raises LookupError and TypeError if it is
    malformed."""
    buckets = answer["aggregations"]["names"]["buckets"]
    return {name: _read_matches(buckets, place) for place, name in enumerate(names)}


def index_of(answer: Mapping[str, Any]) -> str | None:
    """Returns the name of the index that answered `aggregate_names`; None if the answer has no hit."""
    buckets = answer["aggregations"]["names"]["buckets"].values()
    return next((str(hit["_index"]) for each in buckets for hit in each["titles"]["hits"]["hits"]), None)


def _ways(name: ExactName) -> dict[str, Json]:
    ways = {_WHOLE: _name(name.key, False), _AUTHOR: match_nested("people", term("people.spellings", name.key))}
    if name.may_precede_subtitle:
        ways[_MAIN] = _name(name.key, True)
    if name.may_be_written_family:
        ways[_FAMILY] = match_nested("people", prefix("people.spellings", name.key))
    elif name.may_be_family:
        ways[_FAMILY] = match_nested("people", term("people.family", name.key))
    return ways


def _name(key: str, main: bool) -> Json:
    return match_nested("names", {"bool": {"filter": [term("names.key", key), {"term": {"names.main": main}}]}})


def _read_matches(buckets: Mapping[str, Any], place: int) -> NameMatches:
    def find_first(*ways: str) -> Mapping[str, Any]:
        every = (buckets.get(f"{way} {place}") for way in ways)
        return next((each for each in every if each is not None and each["doc_count"]), {})

    titles = find_first(_WHOLE, _MAIN)
    hits = titles["titles"]["hits"]["hits"] if titles else ()
    return NameMatches(tuple(column(hit, ID) for hit in hits), int(find_first(_AUTHOR, _FAMILY).get("doc_count", 0)))


RECALL = 80
MOST_TERMS = 120
"""Most terms searched for in each of a query's `terms` and `translations`; later ones are ignored."""
_ENOUGH_GRAMS, _LONG_KEY = 4, 16


def lexical(parsed: ParsedQuery, allowed: Sequence[Json], size: int, asked: Conditions) -> dict[str, Json]:
    """Returns the searches for a query's words, keyed by kind (names, people, tags, …), each for the best `size` titles that
    pass the filters `allowed`. The format and day of `asked` decide the price to sort by."""
    keys = [*parsed.names, *parsed.aliases]
    found = {
        "names": search(titles_named(keys, parsed.subject, parsed.readings), allowed, size, sort=BEST_KNOWN_FIRST),
        "people": search(titles_by(AskedAuthor(parsed)), allowed, size, sort=BEST_KNOWN_FIRST),
    }
    for i, (author, rest) in enumerate(parsed.titles_beside_authors()):
        found[f"works{i}"] = search(titles_named([sound_key(rest)], rest), [*allowed, author_query(author)], size // 2)
    for which, words in (("words", parsed.terms), ("translated", parsed.translations)):
        if words:
            found[which] = search(either([term("prose", each) for each in words[:MOST_TERMS]]), allowed, size)
    if parsed.themes or parsed.moods or parsed.genre:
        found["tags"] = _match_themes(parsed, allowed, size, order_by(parsed.ordering, asked))
    return found


def anchor(name: str, aliases: Sequence[str]) -> Json:
    """Returns a search for the title to which a query refers, by `name` or by `aliases` (sound keys). Hits have the fields
    needed to search for similar titles and for works by the same authors."""
    called = search(titles_named([sound_key(name), *aliases], name, readings(name)), [], RECALL // 4)
    return {**called, **columns(*FOUND), "stored_fields": [], "_source": ["direction"]}


def titles_named(keys: Sequence[str], text: str, read: Sequence[str] = ()) -> Json:
    """Returns a query for titles with a name like one of `keys`: equal, with the same beginning, or with many n-grams in
    common. Names that `text` spells in katakana match too, and so do names equal to one of `read`, its likely readings.
    Only the first key and the first reading are searched by n-grams, which are slow."""
    likely = [
        either([constant(term("names.key", key), 1000.0), constant(prefix("names.key", key), 200.0)]) for key in keys if key
    ]
    skeleton = consonants(text) if is_loanword(text) else ""
    if len(skeleton) >= MIN_CONSONANTS:
        likely.append(constant(term("names.loan", skeleton), 300.0))
    if read:
        likely.append(constant({"terms": {"names.key": list(read)}}, 500.0))
        likely.append(_shares_grams("names.grams", read[0]))
    if likely and keys[0]:
        likely.append(_shares_grams("names.grams", keys[0]))
    return match_nested("names", {"dis_max": {"queries": likely}}) if likely else NOTHING


def _shares_grams(field: str, key: str) -> Json:
    """Returns a query for names that share n-grams with `key`: only the longest if there are enough of them, since short
    n-grams are in half of all names."""
    found = list(dict.fromkeys(grams(key)))
    longest = [gram for gram in found if len(gram) == len(found[-1])]
    told = longest if len(longest) >= _ENOUGH_GRAMS else found
    least = "25%" if len(key) < _LONG_KEY else "35%"
    return {"match": {field: {"query": " ".join(told), "minimum_should_match": least}}}


def titles_by(author: AskedAuthor) -> Json:
    """Returns a query for titles with an author who may be the requested one; it matches nothing for an empty name."""
    asked, key = author.name, author.name.key
    likely = [constant(term("people.spellings", key), 100.0)]
    likely += [constant(term("people.parts", word), 5.0) for word in asked.words]
    if has_kanji(key):
        likely.append(constant(terms("people.spellings", sorted(set(asked.substrings()))), 20.0))
        likely += [constant(q, 10.0) for word in asked.words if len(word) >= 2 for q in begins_or_ends(word)]
    if author.readings:
        likely += [constant({"terms": {f"people.{kind}": [*author.readings]}}, 15.0) for kind in ("spellings", "parts")]
    if len(key) in TYPO_LENGTHS:
        likely.append(_shares_grams("people.grams", key))
    return match_nested("people", either(likely)) if key else NOTHING


def _match_themes(parsed: ParsedQuery, allowed: Sequence[Json], size: int, ordering: Sequence[Json]) -> Json:
    """Returns a search for the titles that match any of the query's themes, those that match most first, with ties sorted by
    `ordering`. The aggregation `all` counts the found titles that match every theme."""
    themes = [terms("tags", tags) for tags in parsed.themes]
    for tone in parsed.moods:
        wanted = [terms("tags", tone.wanted)] if tone.wanted else []
        themes.append({"bool": {"filter": wanted, "must_not": terms("tags", tone.unwanted)}})
    if parsed.genre is not None:
        themes.append(term("genre", parsed.genre))
    count = {"all": {"filter": {"bool": {"filter": themes}}}}
    sort = [{"_score": "desc"}, *ordering]
    return search(either([constant(theme, 1.0) for theme in themes]), allowed, size, sort=sort, aggs=count)


def like_tags(shares: Mapping[str, float], genre: str | None, filters: Sequence[Json], size: int) -> Json:
    """Returns a search for titles that share at least one tag; the genre and fame add to the score. `shares` are the tags'
    weights, of which the 200 heaviest count."""
    heaviest = sorted(shares, key=lambda tag: -shares[tag])[:200]
    shared = [constant(term("tags", tag), shares[tag]) for tag in heaviest]
    more = [constant(term("genre", genre), WEIGHTS.same_genre)] if genre else []
    fame = {"field_value_factor": {"field": "prior", "factor": WEIGHTS.alike_prior, "missing": 0.0}}
    query = {"bool": {"must": [either(shared)], "should": more}}
    famed = {"function_score": {"query": query, "functions": [fame], "boost_mode": "sum"}}
    return search(famed, filters, size, sort=[{"_score": "desc"}, {"place": "asc"}])


TASTE_RECALL = 300
_TASTE_MOST_TAGS, _MOST_VALUES = 100, 200


def to_taste(query: ReaderQuery, profile: Profile) -> Json:
    """Returns a search for titles to a reader's taste. The score is the square of the title's fame, times the sum of a small
    constant and the weights of the title's liked and requested facts."""
    filters = filter_queries(query.conditions)
    if query.fits is not None:
        filters.append(terms(ID, query.fits))
    else:
        asked = (sorted({tag for group in query.wanted for tag in group}), query.mood)
        filters += [terms("tags", tags) for tags in asked if tags]
    wanted = (*query.wanted, *((tag,) for tag in query.mood))
    liked = [constant({"match_all": {}}, TASTE.unfamiliar), *_match_taste(profile)]
    liked += [constant(terms("tags", tags), 1.0) for tags in wanted]
    fame = {"field_value_factor": {"field": "prior", "modifier": "square", "missing": 0.0}}
    famed = {"function_score": {"query": either(liked), "functions": [fame], "boost_mode": "multiply"}}
    body = search(famed, filters, TASTE_RECALL, sort=[{"_score": "desc"}, {"place": "asc"}])
    body["query"]["bool"]["must_not"] = [terms(ID, query.known)] if query.known else []
    return body


def _match_taste(profile: Profile) -> list[Json]:
    tags = {tag: TASTE.tags * share for tag, share in _heaviest(profile.tags, _TASTE_MOST_TAGS).items()}
    authors = {name: TASTE.author * share for name, share in _heaviest(profile.authors, _MOST_VALUES).items()}
    genres = {name: TASTE.readership * share for name, share in profile.readerships.items()}
    magazines = {name: TASTE.magazine * share**0.5 for name, share in _heaviest(profile.magazines, _MOST_VALUES).items()}
    return [
        *(constant(term("tags", tag), worth) for tag, worth in tags.items() if worth > 0),
        *(constant(match_nested("people", term("people.name", name)), worth) for name, worth in authors.items()),
        *(constant(term("genre", name), worth) for name, worth in genres.items()),
        *(constant(term("magazine", name), worth) for name, worth in magazines.items()),
    ]


def _heaviest(shares: Mapping[str, float], most: int) -> dict[str, float]:
    return {name: shares[name] for name in sorted(shares, key=lambda name: -shares[name])[:most]}
