"""The searches that recall candidates by words: each finds the best of one kind, generously; the ranking is done here
afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tools.store.backends.opensearch.index.definition import FOUND
from tools.store.backends.opensearch.queries.conditions import author_query, begins_or_ends
from tools.store.backends.opensearch.queries.dsl import (
    BEST_KNOWN_FIRST,
    NOTHING,
    Json,
    columns,
    constant,
    either,
    nested,
    prefix,
    search,
    term,
)
from tools.store.backends.opensearch.queries.lookups import by
from tools.store.models import Conditions
from tools.store.search.query.parsed import ParsedQuery
from tools.store.search.query.tones import Tone
from tools.store.search.ranking.authors import TYPO_LENGTHS, AskedAuthor
from tools.store.search.text.characters import has_kanji
from tools.store.search.text.loanwords import MIN_CONSONANTS, consonants, is_loanword
from tools.store.search.text.readings import readings
from tools.store.search.text.romaji import sound_key
from tools.store.search.text.tokens import grams

RECALL = 80
MOST_TERMS = 120
"""So many terms of a description are looked for; queries are at most 400 characters."""
_LONGEST_CJK_NAME = 12
_ENOUGH_GRAMS, _LONG_KEY = 4, 16


def lexical(parsed: ParsedQuery, allowed: Sequence[Json], size: int, asked: Conditions) -> dict[str, Json]:
    """The searches for a query that asks for something, by the name of what they find: of each the best `size` that pass
    `allowed`. `asked` says whose prices order titles."""
    keys = [*parsed.names, *parsed.aliases]
    found = {
        "names": search(titles_called(keys, parsed.subject, parsed.readings), allowed, size, sort=BEST_KNOWN_FIRST),
        "people": search(titles_by(AskedAuthor(parsed)), allowed, size, sort=BEST_KNOWN_FIRST),
    }
    for i, (author, rest) in enumerate(parsed.titles_beside_authors()):
        found[f"works{i}"] = search(titles_called([sound_key(rest)], rest), [*allowed, author_query(author)], size // 2)
    for which, terms in (("words", parsed.terms), ("translated", parsed.translations)):
        if terms:
            found[which] = search(titles_with(terms), allowed, size)
    if parsed.themes or parsed.moods or parsed.genre:
        found["tags"] = _tagged(parsed, allowed, size, by(parsed.ordering, asked))
    return found


def anchor(name: str, aliases: Sequence[str]) -> Json:
    """Titles that may be called `name` or one of `aliases` (sound keys), with all that is needed to search on from one of
    them."""
    called = search(titles_called([sound_key(name), *aliases], name, readings(name)), [], RECALL // 4)
    return {**called, **columns(*FOUND), "stored_fields": [], "_source": ["direction"]}


def titles_called(keys: Sequence[str], text: str, read: Sequence[str] = ()) -> Json:
    """Titles with a name like one of `keys`: it, what begins with it, what shares many grams, what `text` spells,
    what its kanji may be read as.

    Grams are costly, and the keys after the first are other ways to write it: those are looked for as they stand.
    """
    likely = [_named(key) for key in keys if key]
    skeleton = consonants(text) if is_loanword(text) else ""
    if len(skeleton) >= MIN_CONSONANTS:
        likely.append(constant(term("names.loan", skeleton), 300.0))
    if read:
        likely.append(constant({"terms": {"names.key": list(read)}}, 500.0))
        likely.append(_shares_grams("names.grams", read[0]))
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


def titles_by(author: AskedAuthor) -> Json:
    """Titles by an author who may be the asked one; nothing when there is no word in it."""
    asked, key = author.name, author.name.key
    likely = [constant(term("people.spellings", key), 100.0)]
    likely += [constant(term("people.parts", word), 5.0) for word in asked.words]
    if has_kanji(key):
        sizes = range(3, min(_LONGEST_CJK_NAME, len(key)) + 1)
        inside = sorted({key[i : i + n] for n in sizes for i in range(len(key) - n + 1)})
        likely.append(constant({"terms": {"people.spellings": inside}}, 20.0))
        likely += [constant(q, 10.0) for word in asked.words if len(word) >= 2 for q in begins_or_ends(word)]
    if author.readings:
        likely += [constant({"terms": {f"people.{kind}": [*author.readings]}}, 15.0) for kind in ("spellings", "parts")]
    if len(key) in TYPO_LENGTHS:
        likely.append(_shares_grams("people.grams", key))
    return nested("people", either(likely)) if key else NOTHING


def titles_with(terms: Iterable[str]) -> Json:
    """Titles whose text has some of `terms`."""
    return either([term("prose", each) for each in list(terms)[:MOST_TERMS]])


def _tagged(parsed: ParsedQuery, allowed: Sequence[Json], size: int, ordering: Sequence[Json]) -> Json:
    """Titles with the most of the query's themes, the best known first where no other ordering is asked for. `all` counts
    those that have every one."""
    themes: list[Json] = [{"terms": {"tags": list(tags)}} for tags in parsed.themes]
    themes += [_suiting(tone) for tone in parsed.moods]
    if parsed.genre is not None:
        themes.append(term("genre", parsed.genre))
    count = {"all": {"filter": {"bool": {"filter": themes}}}}
    sort = [{"_score": "desc"}, *ordering]
    return search(either([constant(theme, 1.0) for theme in themes]), allowed, size, sort=sort, aggs=count)


def _suiting(tone: Tone) -> Json:
    """Titles with a tag of the mood, where it has any, and none of the wrong tone."""
    wanted = [{"terms": {"tags": list(tone.wanted)}}] if tone.wanted else []
    return {"bool": {"filter": wanted, "must_not": {"terms": {"tags": list(tone.unwanted)}}}}
