"""Finds names of titles and authors in a text. A name may be the whole text, a quotation, the part of a text that is not
facts or function words, or the words beside a word that calls for a name ("like", "by", "volume", の続き)."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from rapidfuzz.distance import OSA

from session.resilience.deadline import Deadline
from tools.store.failures import BackendFailure
from tools.store.models import Author, CatalogPage, CatalogQuery, Conditions, NameMatches, Title
from tools.store.search.query.parser import AliasTable, without_filler
from tools.store.search.ranking.names import series_keys
from tools.store.search.reading.tokens import Is, Sense, Token
from tools.store.search.text.readings import Dictionary
from tools.store.search.text.romaji import MIN_CONSONANTS, consonants, is_loanword, sound, sound_key
from tools.store.search.text.tokens import stem
from tools.store.search.titles.document import AuthorKeys
from tools.store.search.titles.names import LOANWORD_LEAST, NameKeys, names_of

MOST_NAMES = 64
MOST_LOST = 3
_MOST_TOKENS, _WIDEST = 7, 60
_QUOTED = re.compile(r"「([^「」]{1,80})」|『([^『』]{1,80})』|\"([^\"]{1,80})\"")
_CALLERS = (Sense.LIKE, Sense.TASTE, Sense.KNOWN, Sense.REFUSE, Sense.NAME, Sense.NOT, Sense.TOO)
_PLAIN_CALLERS = (Sense.LIKE, Sense.NAME, Sense.KNOWN)
_LEAST_OF_JAPANESE = 4
_MOST_PARTED = 24
"""Most tokens of a text whose parts between commas, "and" and the like are looked up as names."""
_EDGES = frozenset("はがをとやもかでにのへ、。・") | {"って", "とか", "より", "から", "みたい", "です", "の"}
_PARTICLES, _MOST_PARTICLES = frozenset(("は", "を", "が", "も", "the")), 4
_SHORT_KANA = 3
"""Most characters of a name in hiragana that counts only between edges of words."""
_TRIMMED = " ,.:;!?。、！？「」『』\"'"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A run of tokens, `first` to `last` inclusive, that may be a name. `sure`: True if it is the whole text, or quoted."""

    first: int
    last: int
    name: str
    sure: bool = False


def candidates(text: str, tokens: Sequence[Token], proper: frozenset[int] = frozenset()) -> tuple[Candidate, ...]:
    """Returns the runs of tokens that may be names, likeliest first, with at most `MOST_NAMES` different names. `proper` has
    the positions of capital letters."""
    found: dict[tuple[int, int], Candidate] = {}
    runs = sorted(islice(_called_for(text, tokens, proper), 4 * MOST_NAMES), key=lambda each: each.first - each.last)
    for each in (*_whole(text, tokens), *_runs_around_unknown_words(text, tokens), *_parted(text, tokens), *runs):
        found.setdefault((each.first, each.last), each)
    kept: dict[str, None] = {}
    for each in found.values():
        if len(kept) < MOST_NAMES:
            kept[each.name] = None
    return tuple(each for each in found.values() if each.name in kept)


def _whole(text: str, tokens: Sequence[Token]) -> Iterator[Candidate]:
    if not tokens or len(text) > _WIDEST * 2:
        return
    yield Candidate(0, len(tokens) - 1, text.strip(_TRIMMED) or text, sure=True)
    core = without_filler(text)
    if core and core != text and (start := text.find(core)) >= 0 and (span := _span(tokens, start, start + len(core))):
        facts = [token.fact for token in tokens[span[0] : span[1] + 1] if token.fact is not None]
        yield Candidate(*span, core, sure=not any(fact.matter == "magazines" for fact in facts))
    for match in _QUOTED.finditer(text):
        if span := _span(tokens, match.start(), match.end()):
            yield Candidate(*span, next(filter(None, match.groups())), sure=True)


def _span(tokens: Sequence[Token], start: int, end: int) -> tuple[int, int] | None:
    inside = [i for i, token in enumerate(tokens) if token.start < end and token.end > start]
    return (inside[0], inside[-1]) if inside else None


def _runs_around_unknown_words(text: str, tokens: Sequence[Token]) -> Iterator[Candidate]:
    unknown = [i for i, token in enumerate(tokens) if token.kind is Is.WORD]
    if not unknown or tokens[unknown[-1]].end - tokens[unknown[0]].start > _WIDEST:
        return
    reach = 6 if len(unknown) == 1 and tokens[unknown[0]].cjk else 3
    for first in range(max(0, unknown[0] - reach), unknown[0] + 1):
        for last in range(min(len(tokens) - 1, unknown[-1] + reach), unknown[-1] - 1, -1):
            if last - first < _MOST_TOKENS + 4 and not _stops(tokens[first : last + 1]):
                yield Candidate(first, last, text[tokens[first].start : tokens[last].end].strip(_TRIMMED).removesuffix("'s"))


def _parted(text: str, tokens: Sequence[Token]) -> Iterator[Candidate]:
    breaks = [i for i, token in enumerate(tokens) if token.entry(Is.BREAK)]
    if not any(tokens[i].entries and _joins(tokens[i]) for i in breaks) or len(tokens) > _MOST_PARTED:
        return
    for first, last in itertools.pairwise((-1, *breaks, len(tokens))):
        for start in range(first + 1, last):
            if start == first + 1 or tokens[start - 1].kind in (Is.GLUE, Is.OPERATOR):
                name = text[tokens[start].start : tokens[last - 1].end].strip(_TRIMMED)
                yield Candidate(start, last - 1, name)


def _joins(token: Token) -> bool:
    entry = token.entry(Is.BREAK)
    return entry is not None and entry.name == "join"


def _stops(tokens: Sequence[Token]) -> bool:
    return any(token.kind is Is.BREAK and token.entries[0].name == "stop" for token in tokens[:-1])


def _called_for(text: str, tokens: Sequence[Token], proper: frozenset[int]) -> Iterator[Candidate]:
    """Yields runs that begin with a capital inside a clause, look like whole names, or have a strange word (`is_strange`).
    In a clause with a word that calls for a name, also yields runs beside that word, and runs with any unknown word."""
    edges = [_is_edge(tokens, i) for i in range(len(tokens) + 1)]
    after = [_is_beside(tokens, i, before=False) for i in range(len(tokens))]
    strange = [is_strange(token) for token in tokens]
    for start, end in _clauses(tokens):
        called = any(token.operator(*_CALLERS) for token in tokens[start:end])
        for first in range(start, end):
            one = tokens[first]
            if one.kind is Is.BREAK:
                continue
            capital = one.start in proper
            plain = _is_beside(tokens, first, before=True) or (first > start and capital)
            begins = (not first or edges[first - 1]) if one.cjk else capital
            word = odd = False
            for last in range(first, min(end, first + _MOST_TOKENS)):
                other = tokens[last]
                word, odd = word or other.kind is Is.WORD, odd or strange[last]
                if other.kind is Is.BREAK or (last == first and other.kind is Is.GLUE):
                    continue
                whole = begins and _is_whole(one, other, edges[last + 1], other.start in proper)
                if not (plain or whole or after[last] or word):
                    continue
                little = one.kind is Is.GLUE or (other.kind is Is.GLUE and not other.cjk)
                if called or plain or whole or (odd and not little):
                    name = text[one.start : other.end].strip(_TRIMMED).removesuffix("'s")
                    yield Candidate(first, last, name)


def _is_whole(one: Token, other: Token, ends: bool, capital: bool) -> bool:
    if one.cjk:
        return ends and other.end - one.start >= _LEAST_OF_JAPANESE
    return capital and other is not one


def _is_edge(tokens: Sequence[Token], i: int) -> bool:
    return i >= len(tokens) or tokens[i].kind is Is.BREAK or tokens[i].text in _EDGES or tokens[i].operator() is not None


def is_strange(token: Token) -> bool:
    """Returns True if the word may be a name: unknown to the word tables and, if Latin, to the English dictionary."""
    if token.kind is not Is.WORD or len(token.text) < 2:
        return False
    return token.cjk or (len(token.text) > 2 and stem(token.text) not in Dictionary.english_words())


def _is_beside(tokens: Sequence[Token], i: int, *, before: bool) -> bool:
    near = tokens[max(0, i - _MOST_PARTICLES) : i][::-1] if before else tokens[i + 1 : i + 1 + _MOST_PARTICLES]
    caller = next((token for token in near if token.text not in _PARTICLES), None)
    entry = caller.operator(*_PLAIN_CALLERS) if caller is not None else None
    return (entry is not None and (entry.side in ("before", "person", "hand")) == before) or (
        entry is not None and not before and entry.side == "after"
    )


def _clauses(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    start = 0
    for i, token in enumerate(tokens):
        name = token.entries[0].name if token.entries else ""
        if name == "sign" or (
            token.kind is Is.BREAK and name in ("stop", "strong", "reason") and token.text not in ("!", "？")
        ):
            yield start, i
            start = i + 1
    yield start, len(tokens)


def with_names(
    text: str,
    tokens: Sequence[Token],
    asked: Sequence[Candidate],
    called: Mapping[str, NameMatches],
    proper: frozenset[int] = frozenset(),
) -> list[Token]:
    """Returns the tokens, with those of each known name joined to one. Of overlapping names, takes a sure one before others,
    then the longer."""
    taken: list[Candidate] = []
    for each in sorted(asked, key=lambda each: (not each.sure, each.first - each.last, each.first)):
        known = called.get(each.name)
        if known is None or not (known.title_ids or known.works_by_author) or not _believed(tokens, each, known, proper):
            continue
        if all(each.last < other.first or other.last < each.first for other in taken):
            taken.append(each)
    return _merged(text, tokens, sorted(taken, key=lambda each: each.first), called)


def _believed(tokens: Sequence[Token], each: Candidate, known: NameMatches, proper: frozenset[int]) -> bool:
    run = tokens[each.first : each.last + 1]
    if each.sure:
        return True
    if len(each.name) <= _SHORT_KANA and all(
        "\u3041" <= sign <= "\u3096" for sign in each.name
    ):  # たち in 人たち, ちば in いちばん
        bounded = run[0].space or _is_edge(tokens, each.first - 1) or not each.first
        if not (bounded and _is_edge(tokens, each.last + 1)):
            return False
    content = [token for token in run if token.kind is not Is.GLUE]
    if not known.title_ids and (
        any(token.fact is not None or token.amount for token in content) or (len(each.name) < 3 and each.name.isascii())
    ):
        return False
    if any(token.kind is Is.WORD for token in content):
        return run[0].kind is not Is.BREAK and run[-1].kind is not Is.BREAK
    if any(token.fact is not None and token.fact.matter == "magazines" for token in run):
        return False
    if each.first and run[0].start in proper and known.title_ids:
        return True
    capitals = run[0].start in proper and run[-1].start in proper
    stated = any(token.fact is not None for token in run)
    if known.title_ids and not stated and _is_whole(run[0], run[-1], ends=True, capital=capitals):
        return True
    return _is_beside(tokens, each.first, before=True) or _is_beside(tokens, each.last, before=False)


def _merged(
    text: str, tokens: Sequence[Token], taken: Sequence[Candidate], called: Mapping[str, NameMatches]
) -> list[Token]:
    made: list[Token] = []
    i = 0
    for each in (*taken, None):
        end = len(tokens) if each is None else each.first
        made.extend(tokens[i:end])
        if each is not None:
            first, last = tokens[each.first], tokens[each.last]
            token = Token(first.start, last.end, text[first.start : last.end], Is.NAMED, cjk=first.cjk, space=first.space)
            token.title_ids, token.names = called[each.name].title_ids, (each.name,)
            made.append(token)
            i = each.last + 1
    return made


def may_name(tokens: Sequence[Token]) -> bool:
    """Returns True if the text has unknown words, which may be a name, and a word that calls for a name."""
    return any(token.kind is Is.WORD for token in tokens) and any(token.operator(*_CALLERS) for token in tokens)


def lost(text: str, tokens: Sequence[Token]) -> tuple[Candidate, ...]:
    """Returns at most `MOST_LOST` runs that may be a misspelled or shortened title: unknown words beside a word that calls
    for a title, then runs that begin with a word for which `is_strange` is True."""
    found: dict[tuple[int, int], Candidate] = {}
    for i, token in enumerate(tokens):
        entry = token.operator(Sense.LIKE, Sense.TASTE, Sense.KNOWN, Sense.REFUSE, Sense.TOO) or token.operator(Sense.NAME)
        if entry is not None and token.kind is not Is.NAMED:
            back = entry.side == "after" or entry.sense is Sense.TOO
            _find(text, tokens, _run(tokens, range(i - 1, -1, -1) if back else range(i + 1, len(tokens))), found)
    for i, token in enumerate(tokens):
        if is_strange(token) and not any(first <= i <= last for first, last in found):
            _find(text, tokens, _run(tokens, range(i, len(tokens))), found)
    return tuple(found.values())[:MOST_LOST]


def _find(text: str, tokens: Sequence[Token], run: Sequence[int], found: dict[tuple[int, int], Candidate]) -> None:
    if run and all(token.kind is not Is.NAMED for token in tokens[run[0] : run[-1] + 1]):
        name = text[tokens[run[0]].start : tokens[run[-1]].end].strip(_TRIMMED)
        if 1 < len(name) < _WIDEST:
            found.setdefault((run[0], run[-1]), Candidate(run[0], run[-1], name))


def _run(tokens: Sequence[Token], places: range) -> list[int]:
    run: list[int] = []
    for k in places:
        token = tokens[k]
        if token.kind is Is.WORD:
            run.append(k)
        elif (
            run
            and not (
                token.kind is Is.GLUE
                and len(run) < 4
                and token.text in ("of", "the", "no", "the", "の", "to", "on", "in", "x")
            )
        ) or token.kind is not Is.GLUE:
            break
    while run and tokens[run[-1]].kind is Is.GLUE:
        run.pop()
    return sorted(run)


_FOUND = 2
_FITS = 0.82
"""Least similarity, 0 to 1, of a misspelled name to a title's or an author's: one wrong letter in six."""
_SHORTEST, _SHORTEST_BEGINNING = 4, 6
"""Fewest letters of a name that may be misspelled, and of one that may lack a title's last words."""


class Searched(Protocol):
    async def search(self, query: CatalogQuery, deadline: Deadline) -> CatalogPage: ...


async def nearly_called(catalog: Searched, names: Sequence[str], within: Deadline) -> dict[str, tuple[str, NameMatches]]:
    """Searches the catalogue for names that may be misspelled. Maps each name to a pair: the name and the match of a
    similar title, else the name of a similar author and the match of that name. Leaves out names without either, or whose
    search fails."""
    found = await asyncio.gather(*(_meant(catalog, name, within) for name in names))
    return {name: called for name, called in zip(names, found, strict=True) if called is not None}


async def _meant(catalog: Searched, name: str, within: Deadline) -> tuple[str, NameMatches] | None:
    try:
        page = await catalog.search(CatalogQuery(name, Conditions(), _FOUND), within)
    except BackendFailure:
        return None
    if title := next((title for title in page.titles if fits(name, title)), None):
        return name, NameMatches((title.title_id,))
    key, authors = sound_key(name), {author.name: author for title in page.titles for author in title.authors}
    near = [each for each, author in authors.items() if len(key) > _SHORTEST_BEGINNING and _is_near(key, author)]
    return (near[0], NameMatches((), 1)) if near else None


def _is_near(key: str, author: Author) -> bool:
    return any(OSA.normalized_similarity(key, each) >= _FITS for each in AuthorKeys.from_author(author).spellings)


def fits(name: str, title: Title) -> bool:
    """Returns True if the name may mean the title: as a nickname, misspelled, by its first words, or in katakana."""
    key, keys = sound_key(name), NameKeys.of(title).all
    if any(alias in keys for alias in AliasTable.load().expand(name)):
        return True
    if is_loanword(name) and any(_spells(name, key, each) for each in keys):
        return True
    if len(key) >= _SHORTEST and any(OSA.normalized_similarity(key, each) >= _FITS for each in keys):
        return True
    beginning = f"{sound(name)} "
    return len(key) >= _SHORTEST_BEGINNING and any(sound(each).startswith(beginning) for each in names_of(title))


def _spells(name: str, key: str, latin: str) -> bool:
    skeleton = consonants(name)
    if not latin.isascii() or len(skeleton) < MIN_CONSONANTS:
        return False
    return OSA.normalized_similarity(key, latin) >= LOANWORD_LEAST and consonants(latin) == skeleton


_LONGEST_SERIES = 40
"""Most titles of one series that a refusal of its name excludes: the first that a search for the name finds."""


async def with_series(
    catalog: Searched, names: Sequence[str], called: Mapping[str, NameMatches], within: Deadline
) -> dict[str, NameMatches]:
    """Returns the matches of each name, and adds the titles whose names begin with it, if the catalogue answers in time."""
    found = await asyncio.gather(*(_series(catalog, name, within) for name in names))
    return {
        name: NameMatches(tuple(dict.fromkeys((*called[name].title_ids, *series))), called[name].works_by_author)
        for name, series in zip(names, found, strict=True)
    }


async def _series(catalog: Searched, name: str, within: Deadline) -> tuple[str, ...]:
    keys = series_keys((sound_key(name),))
    if not keys:
        return ()
    try:
        page = await catalog.search(CatalogQuery(name, Conditions(), _LONGEST_SERIES), within)
    except BackendFailure:
        return ()
    # On a thread: comparing the names of forty titles takes some milliseconds.
    return await asyncio.to_thread(_beginning, page.titles, keys)


def _beginning(titles: Sequence[Title], keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(title.title_id for title in titles if any(sound_key(name).startswith(keys) for name in names_of(title)))
