"""Names of titles and authors in a text: only where they can be.

That is the whole text, what is quoted, what is left of it beside facts and little words, and what stands beside a word that
calls for a name: "like", "by", "volume", a verb of liking, having or refusing, の続き. Nowhere else is a phrase a title.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from tools.store.models import NameMatches
from tools.store.search.query.parser import without_filler
from tools.store.search.reading.tokens import Is, Sense, Token

MOST_NAMES = 64
_MOST_TOKENS, _WIDEST = 7, 60
_QUOTED = re.compile(r"「([^「」]{1,80})」|『([^『』]{1,80})』|\"([^\"]{1,80})\"")
_CALLERS = (Sense.LIKE, Sense.TASTE, Sense.KNOWN, Sense.REFUSE, Sense.NAME, Sense.NOT, Sense.TOO)
_PLAIN_CALLERS = (Sense.LIKE, Sense.NAME, Sense.KNOWN)
_PARTICLES = frozenset(("は", "を", "が", "も", "the"))
_TRIMMED = " ,.:;!?。、！？「」『』\"'"


@dataclass(frozen=True, slots=True)
class Candidate:
    """Tokens `[first, last]` that may be a name. `sure`: nothing else is said, or it is quoted."""

    first: int
    last: int
    name: str
    sure: bool = False


def candidates(text: str, tokens: Sequence[Token], proper: frozenset[int] = frozenset()) -> tuple[Candidate, ...]:
    """What may be a name, the likeliest first; as many as a catalogue looks for. `proper`: where capital letters stand."""
    found: dict[tuple[int, int], Candidate] = {}
    for each in (*_whole(text, tokens), *_left(text, tokens), *islice(_called_for(text, tokens, proper), 2 * MOST_NAMES)):
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


def _left(text: str, tokens: Sequence[Token]) -> Iterator[Candidate]:
    """Runs that hold all words which no table knows: beside them only facts and little words are said."""
    unknown = [i for i, token in enumerate(tokens) if token.kind is Is.WORD]
    if not unknown or tokens[unknown[-1]].end - tokens[unknown[0]].start > _WIDEST:
        return
    reach = 6 if len(unknown) == 1 and tokens[unknown[0]].cjk else 3
    for first in range(max(0, unknown[0] - reach), unknown[0] + 1):
        for last in range(min(len(tokens) - 1, unknown[-1] + reach), unknown[-1] - 1, -1):
            if last - first < _MOST_TOKENS + 4 and not _stops(tokens[first : last + 1]):
                yield Candidate(first, last, text[tokens[first].start : tokens[last].end].strip(_TRIMMED).removesuffix("'s"))


def _stops(tokens: Sequence[Token]) -> bool:
    return any(token.kind is Is.BREAK and token.entries[0].name == "stop" for token in tokens[:-1])


def _called_for(text: str, tokens: Sequence[Token], proper: frozenset[int]) -> Iterator[Candidate]:
    """Runs of a clause that has a word which calls for a name."""
    for start, end in _clauses(tokens):
        clause = tokens[start:end]
        if not any(token.operator(*_CALLERS) for token in clause):
            continue
        starts = [i for i in range(start, end) if tokens[i].kind is not Is.BREAK]
        for first in starts:
            plain = _is_beside(tokens, first, before=True) or (first > start and tokens[first].start in proper)
            for last in range(min(end, first + _MOST_TOKENS) - 1, first - 1, -1):
                run = tokens[first : last + 1]
                if (
                    not plain
                    and not _is_beside(tokens, last, before=False)
                    and not any(token.kind is Is.WORD for token in run)
                ):
                    continue
                if run[-1].kind is Is.BREAK or (len(run) == 1 and run[0].kind is Is.GLUE):
                    continue
                yield Candidate(first, last, text[run[0].start : run[-1].end].strip(_TRIMMED).removesuffix("'s"))


def _is_beside(tokens: Sequence[Token], i: int, *, before: bool) -> bool:
    """Whether the token next to this one asks for a name, whatever the words."""
    k = i - 1 if before else i + 1
    while 0 <= k < len(tokens) and tokens[k].text in _PARTICLES:
        k += -1 if before else 1
    entry = tokens[k].operator(*_PLAIN_CALLERS) if 0 <= k < len(tokens) else None
    return (entry is not None and (entry.side in ("before", "person", "hand")) == before) or (
        entry is not None and not before and entry.side == "after"
    )


def _clauses(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    start = 0
    for i, token in enumerate(tokens):
        if (
            token.kind is Is.BREAK
            and token.entries[0].name in ("stop", "strong", "reason")
            and token.text not in ("!", "？")
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
    """The tokens with those of known names put together; of two that overlap the sure one, then the longer."""
    taken: list[Candidate] = []
    for each in sorted(asked, key=lambda each: (not each.sure, each.first - each.last, each.first)):
        known = called.get(each.name)
        if known is None or not (known.title_ids or known.by_author) or not _believed(tokens, each, known, proper):
            continue
        if all(each.last < other.first or other.last < each.first for other in taken):
            taken.append(each)
    return _merged(text, tokens, sorted(taken, key=lambda each: each.first), called)


def _believed(tokens: Sequence[Token], each: Candidate, known: NameMatches, proper: frozenset[int]) -> bool:
    """A run of words that all mean something else is no name, unless it is all that is said."""
    run = tokens[each.first : each.last + 1]
    if each.sure:
        return True
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
    """Whether anything is said of words that no table knows: were they a name, the text would say something else. A text
    that is all name is searched for either way."""
    return any(token.kind is Is.WORD for token in tokens) and any(token.operator(*_CALLERS) for token in tokens)


def lost(text: str, tokens: Sequence[Token]) -> tuple[Candidate, ...]:
    """Runs of unknown words right beside a word that calls for a title: they may be spelled with a slip."""
    found: list[Candidate] = []
    for i, token in enumerate(tokens):
        entry = token.operator(Sense.LIKE, Sense.TASTE, Sense.KNOWN, Sense.REFUSE, Sense.TOO) or token.operator(Sense.NAME)
        if entry is None or token.kind is Is.NAMED:
            continue
        if entry.side == "after" or entry.sense is Sense.TOO:
            run = _run(tokens, range(i - 1, -1, -1))
        else:
            run = _run(tokens, range(i + 1, len(tokens)))
        if run and all(token.kind is not Is.NAMED for token in tokens[run[0] : run[-1] + 1]):
            name = text[tokens[run[0]].start : tokens[run[-1]].end].strip(_TRIMMED)
            if 1 < len(name) < _WIDEST:
                found.append(Candidate(run[0], run[-1], name))
    return tuple(found[:3])


def _run(tokens: Sequence[Token], places: range) -> list[int]:
    """Unknown words in a row, from the nearest; what is nearer and says nothing is passed over."""
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
