"""Merges query text, arguments and remembered preferences into one search request. Arguments override the text, condition by
condition."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from session.resilience.deadline import Deadline
from tools.conditions.arguments import RELEVANCE, conditions_of, stated_by
from tools.conditions.remembered import recall_preferences
from tools.contract import Json, ToolContext
from tools.results.rows import read_or
from tools.schema.parts import INTEGER, STRING, STRINGS, join_notes, list_of, record
from tools.store.audience import Adult
from tools.store.currency import YEN, Currency
from tools.store.identifiers import SAFE_ID
from tools.store.models import Author, CatalogQuery, CatalogTerms, Conditions, NameMatches, Ordering, Range
from tools.store.search.conditions.wording import describe_condition, describe_ordering
from tools.store.search.query.parsed import ToneTable
from tools.store.search.query.parser import whole_names
from tools.store.search.query.themes import ThemeTable
from tools.store.search.reading.reading import Reading, Understood
from tools.store.search.text.characters import normalise
from tools.store.search.titles.document import is_author

EXACT = frozenset({"genres", "author", "min_rating"})
"""Conditions that are never dropped if they are given as arguments."""


@dataclass(frozen=True, slots=True)
class Want:
    """A customer's search request.

    `text`: words to search by. `offset`: rows to skip. `firm`: names of conditions that are never dropped. `by_name`: the
    weaker conditions for a title whose name is the whole text, without remembered preferences and without the default
    exclusion of adult titles; None if there are no weaker ones. `remarks`: sentences for the model. `beside`: text beside
    the titles named for comparison. `currency`: the shop's. The other fields are those of `Reading`."""

    text: str
    conditions: Conditions
    ordering: Ordering | None = None
    offset: int = 0
    firm: frozenset[str] = frozenset()
    understood: tuple[Understood, ...] = ()
    like: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    vague: bool = False
    by_name: Conditions | None = None
    remarks: tuple[str, ...] = ()
    beside: str = ""
    again: bool = False
    another: bool = False
    absent: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    currency: Currency = YEN

    def query(self, limit: int) -> CatalogQuery:
        return CatalogQuery(self.text, self.conditions, limit, self.offset, self.ordering)

    @property
    def lifted_conditions(self) -> Conditions:
        """The conditions that a title requested by name need not satisfy."""
        if self.by_name is None:
            return Conditions()
        same = [name for name in self.conditions.stated if getattr(self.by_name, name) == getattr(self.conditions, name)]
        return self.conditions.but(*same)


async def read_want(context: ToolContext, text: str, asked: Json) -> Want:
    reading = await context.store.reader.read(text, context.deadline)
    if reading.unnamed:
        context.degraded.add(NAMES)
    unwanted, said = await resolve_excluded(context, asked.get("without") or ())
    want = merge_arguments(reading, asked, context.store.currency)
    want = replace(want, conditions=want.conditions.and_also(unwanted), understood=(*want.understood, *said))
    want = replace(want, remarks=(*want.remarks, *ruled_out(want.text, want.conditions, asked.get("without") or ())))
    if reading.like:
        want = replace(want, text=await describe_likeness(context, reading.like, reading.text), beside=want.text)
    own, (remembered, said) = want.conditions, await recall_preferences(context, reading, want.conditions)
    by_name = own if remembered.stated else None
    want = replace(want, conditions=own.and_also(remembered), understood=(*want.understood, *said), by_name=by_name)
    if context.store.adult is not Adult.ON_REQUEST or reading.adult or want.conditions.no_adult:
        return want
    by_name = want.conditions if want.by_name is None else want.by_name
    return replace(want, conditions=replace(want.conditions, no_adult=True), by_name=by_name)


async def describe_likeness(context: ToolContext, like: Sequence[str], otherwise: str) -> str:
    """Returns a text that asks for titles like the first of the ids `like`; `otherwise` if its name cannot be read."""
    names = await context.store.names.read_names(like[:1], context.store.titles, context.deadline)
    return f"manga like {names[like[0]]}" if names else otherwise


def merge_arguments(reading: Reading, asked: Json, currency: Currency = YEN) -> Want:
    """Converts the parsed text to a request. Conditions given as arguments override those of the text."""
    arguments = conditions_of(asked)
    stated: Json = {name: _override_range(reading.conditions, arguments, name) for name in arguments.stated}
    conditions = replace(reading.conditions, **stated)
    ordering = _ordering(reading, asked)
    return Want(
        # Beside arguments, "something good" is dropped: it would only match titles with these words in their names.
        text="" if reading.vague and (arguments.stated or ordering) else reading.subject,
        conditions=conditions,
        ordering=ordering,
        offset=asked.get("offset") or 0,
        firm=EXACT.intersection(arguments.stated),
        understood=tuple(_list_understood(reading, arguments, conditions, asked, currency)),
        like=reading.like,
        known=reading.known,
        vague=reading.vague,
        remarks=reading.remarks,
        again=reading.again,
        another=reading.another,
        absent=reading.absent,
        named=reading.named,
        currency=currency,
    )


def _override_range(words: Conditions, arguments: Conditions, name: str) -> object:
    """Returns the argument's value of a condition. A missing bound is taken from the text, unless the range would then be
    empty."""
    said, stated = getattr(words, name), getattr(arguments, name)
    if not isinstance(stated, Range):
        return stated
    least = said.least if stated.least is None else stated.least
    most = said.most if stated.most is None else stated.most
    return stated if least is not None and most is not None and least > most else Range(least, most)


def _ordering(reading: Reading, asked: Json) -> Ordering | None:
    sort = asked.get("sort")
    if not sort:
        return reading.ordering
    return None if sort == RELEVANCE else Ordering(sort)


def _list_understood(
    reading: Reading, arguments: Conditions, conditions: Conditions, asked: Json, currency: Currency
) -> Iterator[Understood]:
    overruled = {name for name in arguments.stated if not _holds(reading.conditions, conditions, name)}
    said: dict[str, str] = {}
    for each in reading.understood:
        if not overruled.isdisjoint(each.about):
            said.update(dict.fromkeys(each.about, each.condition))
        else:
            yield each
    for name in arguments.stated:
        contradicted = f" (argument; the words said {said[name]})" if name in said else ""
        yield Understood(describe_condition(name, arguments, currency) + contradicted, stated_by(name, asked))
    if (sort := asked.get("sort")) and sort != RELEVANCE:
        yield Understood(describe_ordering(Ordering(sort)), "sort")


def _holds(words: Conditions, conditions: Conditions, name: str) -> bool:
    """True if the merged conditions still imply the text's condition `name`."""
    said, holds = getattr(words, name), getattr(conditions, name)
    if not isinstance(said, Range):
        return not said or said == holds
    return bool(said.narrowed(holds) == holds)


MOST_SECONDS, SHARE = 0.06, 1 / 3
"""Time limits for resolving names in the catalogue: seconds, and share of the call's remaining time."""
_ID = re.compile(rf"(?=.*\d)(?:{SAFE_ID})")
"""Matches a title id, which has a digit in it; a word without digits is a name."""
NAMES = "names"
"""Entry in `degraded` for names that the catalogue did not resolve."""
UNKNOWN, LATE = "nothing here has this name", "it could not be read in time"


async def resolve_excluded(context: ToolContext, names: Sequence[str]) -> tuple[Conditions, tuple[Understood, ...]]:
    """Returns the conditions that exclude the names, and how each name was understood; an unknown name is marked as not
    obeyed. Adds `NAMES` to `degraded` if the catalogue fails or does not answer in time."""
    if not names:
        return Conditions(), ()
    asked = list(dict.fromkeys(names))
    within = context.deadline.within(min(MOST_SECONDS, SHARE * context.deadline.remaining()))
    # If the catalogue fails, local wordings and names resolve the exclusions.
    folded = [normalise(name) for name in asked]
    terms, called = await asyncio.gather(
        read_or(context, context.store.catalog.terms(within), NAMES, CatalogTerms({}, {})),
        _match_names(context, folded, within),
    )
    understood, conditions = [], Conditions()
    until = context.deadline.within(SHARE * context.deadline.remaining())
    for name in asked:
        read = await _read_exclusion(context, name, terms, called, until)
        part = read or Conditions()
        if not part.stated and _ID.fullmatch(name):
            part = Conditions(without_titles=(name,))
        says = _word_exclusion(name, part) if part.stated else f"without {name}: {LATE if read is None else UNKNOWN}"
        understood.append(Understood(says, "without", obeyed=bool(part.stated)))
        conditions = conditions.and_also(part)
    return conditions, tuple(understood)


async def _read_exclusion(
    context: ToolContext, name: str, terms: CatalogTerms, called: Mapping[str, NameMatches], until: Deadline
) -> Conditions | None:
    """Returns the conditions that exclude a name. If the name is not read by `until`, adds `NAMES` to `degraded` and
    returns None."""
    with suppress(TimeoutError):
        if not until.expired():
            return await context.store.reader.refused(name, terms, called, until)
    context.degraded.add(NAMES)
    return None


async def _match_names(context: ToolContext, names: Sequence[str], within: Deadline) -> Mapping[str, NameMatches]:
    called, away = await context.store.reader.called(names, within)
    if away:
        context.degraded.add(NAMES)
    return called


def _word_exclusion(name: str, part: Conditions) -> str:
    if part.without_tags:
        return f"without {' or '.join(part.without_tags)}"
    return f"not by {name}" if part.without_authors else f"without {name}"


RULED_OUT = "{} is asked for and ruled out as well: it was left out. Ask the customer which of the two is meant."


def ruled_out(text: str, conditions: Conditions, without: Sequence[str]) -> tuple[str, ...]:
    """Returns a sentence for each theme, readership, author or name that the call both requests and excludes."""
    return tuple(RULED_OUT.format(each) for each in dict.fromkeys(_contradictions(text, conditions, without)))


def _contradictions(text: str, conditions: Conditions, without: Sequence[str]) -> Iterator[str]:
    if unwanted := set(conditions.without_tags):
        asked = (*(theme.tags for theme in ThemeTable.load().themes(text)), *conditions.tags)
        yield from (" or ".join(tags) for tags in asked if unwanted.issuperset(tags))
    if conditions.genres and set(conditions.genres) <= set(conditions.without_genres):
        yield " or ".join(conditions.genres)
    if conditions.author and any(is_author(each, Author(conditions.author)) for each in conditions.without_authors):
        yield conditions.author
    if without and not conditions.without_tags:
        said = whole_names(text)
        yield from (name for name in without if normalise(name) in said)


AS_BEFORE = "A search does not know the customer's earlier titles: ask which title they mean."


async def with_comparison_conditions(context: ToolContext, want: Want) -> Want:
    """Adds the themes and moods stated beside titles named for comparison ("like Berserk, but funny") as conditions. If the
    customer asks for something like earlier titles, only adds a remark, since a search does not know them."""
    if want.again:
        return replace(want, remarks=(*want.remarks, AS_BEFORE))
    if not want.like or not want.beside:
        return want
    terms = await context.store.reader.terms(context.deadline)
    beside = conditions_beside(want.beside, terms.tags)
    if not beside.stated:
        return want
    said = ", ".join(describe_condition(name, beside) for name in beside.stated)
    understood = (*want.understood, Understood(said, want.beside, about=beside.stated))
    return replace(want, conditions=want.conditions.and_also(beside), understood=understood)


def conditions_beside(text: str, known: Container[str]) -> Conditions:
    """Converts the themes and moods named in a text to conditions on `known` tags. Excludes tags that contradict a mood,
    unless the text also requests them."""
    tones, rest = ToneTable.load().read(normalise(text))
    asked = [*(theme.tags for theme in ThemeTable.load().themes(rest)), *(tone.wanted for tone in tones)]
    groups = dict.fromkeys(tuple(_keep_known(group, known)) for group in asked)
    wanted = {tag for group in groups for tag in group}
    wrong = dict.fromkeys(tag for tone in tones for tag in _keep_known(tone.unwanted, known) if tag not in wanted)
    return Conditions(tags=tuple(filter(None, groups)), without_tags=tuple(wrong))


def _keep_known(tags: tuple[str, ...], known: Container[str]) -> Iterator[str]:
    return (tag for tag in tags if tag in known)


IMPOSSIBLE = "Nothing can be {}: ask the customer which of the two is meant."
NOT_OBEYED = "not obeyed"

UNDERSTOOD: Json = {
    "understood": list_of(record({"condition": STRING, "from": STRING}, ["condition", "from"])),
    "relaxed": {**STRINGS, "description": "Conditions let go: tell the customer."},
}
"""Output schema properties that explain the conditions applied."""
NEXT_OFFSET: Json = {"next_offset": INTEGER}


def describe_understood(want: Want, relaxed: Sequence[str] = ()) -> Json:
    """Returns the result fields `understood`, `relaxed` and `note`, without empty ones."""
    said: Json = {}
    if want.understood:
        said["understood"] = [
            {"condition": each.condition if each.obeyed else f"{each.condition} ({NOT_OBEYED})", "from": each.words}
            for each in want.understood
        ]
    if relaxed:
        said["relaxed"] = list(relaxed)
    bounds = {name: getattr(want.conditions, name) for name in want.conditions.stated}
    empty = next((name for name, each in bounds.items() if isinstance(each, Range) and each.empty), None)
    impossible = IMPOSSIBLE.format(describe_condition(empty, want.conditions, want.currency)) if empty else None
    return said | join_notes(*want.remarks, impossible)


def next_offset(want: Want, given: int, total: int) -> Json:
    """Returns the `next_offset` field for a page of `given` rows; {} if no more rows follow."""
    after = want.offset + given
    return {"next_offset": after} if given and after < total else {}
