"""Words and arguments to one `Want`. An argument goes before the words, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tools.conditions.arguments import RELEVANCE, conditions_of, stated_by
from tools.conditions.remembered import Remembered, remembered
from tools.conditions.ruled_out import ruled_out
from tools.conditions.without import NAMES, excluded
from tools.contract import Json, ToolContext
from tools.store.catalog.adult import Adult
from tools.store.models import CatalogQuery, Conditions, Ordering, Range
from tools.store.search.conditions.wording import describe_condition, describe_ordering
from tools.store.search.reading.reading import Reading, Understood

EXACT = frozenset({"genres", "author", "min_rating"})
"""What the reference's own arguments state: filters that have always been exact."""


@dataclass(frozen=True, slots=True)
class Want:
    """What a customer is looking for. `text`: to search by. `firm`: the conditions that are filters and never let go.
    `by_name`: what a title has to satisfy that the whole text is the name of, where that is less: what is remembered of the
    customer, and that a title for adults was not asked for, is left aside. `remarks`: sentences on what contradicts itself.
    `beside`: what is said beside the titles to compare with. `again`, as the rest: as in `Reading`."""

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

    def query(self, limit: int) -> CatalogQuery:
        return CatalogQuery(self.text, self.conditions, limit, self.offset, self.ordering)

    def under(self, conditions: Conditions) -> Want:
        """The same under other conditions."""
        return replace(self, conditions=conditions)

    @property
    def lifted(self) -> Conditions:
        """The conditions that do not hold for what is asked for by name."""
        if self.by_name is None:
            return Conditions()
        same = [name for name in self.conditions.stated if getattr(self.by_name, name) == getattr(self.conditions, name)]
        return self.conditions.but(*same)


async def wanted(context: ToolContext, text: str, asked: Json) -> Want:
    """What the words and the validated arguments come to."""
    reading = await context.store.reader.read(text, context.deadline)
    if reading.unnamed:
        context.degraded.add(NAMES)
    unwanted, said = await excluded(context, asked.get("without") or ())
    want = merged(reading, asked)
    want = replace(want, conditions=want.conditions.and_also(unwanted), understood=(*want.understood, *said))
    want = replace(want, remarks=(*want.remarks, *ruled_out(want.text, want.conditions, asked.get("without") or ())))
    if reading.like:
        want = replace(want, text=await _like(context, reading), beside=want.text)
    want = _with_remembered(want, await remembered(context, reading, want.conditions))
    if context.store.adult is not Adult.ON_REQUEST or reading.adult or want.conditions.no_adult:
        return want
    by_name = want.conditions if want.by_name is None else want.by_name
    return replace(want, conditions=replace(want.conditions, no_adult=True), by_name=by_name)


def _with_remembered(want: Want, told: Remembered) -> Want:
    own, understood = want.conditions, (*want.understood, *told.understood)
    by_name = own if told.conditions.stated else None
    return replace(want, conditions=own.and_also(told.conditions), understood=understood, by_name=by_name)


async def _like(context: ToolContext, reading: Reading) -> str:
    """A text that asks the catalogue for titles like the one that was named."""
    names = await context.store.names.of(reading.like[:1], context.store.titles, context.deadline)
    return f"manga like {names[reading.like[0]]}" if names else reading.text


def merged(reading: Reading, asked: Json) -> Want:
    """The reading's conditions with those of the arguments over them."""
    arguments = conditions_of(asked)
    stated: Json = {name: _over(reading.conditions, arguments, name) for name in arguments.stated}
    conditions = replace(reading.conditions, **stated)
    ordering = _ordering(reading, asked)
    return Want(
        # "Something good" with facts beside it asks for whatever satisfies these, not for names with such words.
        text="" if reading.vague and (arguments.stated or ordering) else reading.subject,
        conditions=conditions,
        ordering=ordering,
        offset=asked.get("offset") or 0,
        firm=EXACT.intersection(arguments.stated),
        understood=tuple(_understood(reading, arguments, conditions, asked)),
        like=reading.like,
        known=reading.known,
        vague=reading.vague,
        remarks=reading.remarks,
        again=reading.again,
        another=reading.another,
        absent=reading.absent,
        named=reading.named,
    )


def _over(words: Conditions, arguments: Conditions, name: str) -> object:
    """Of two ranges the argument's bounds, and the words' where it has none, unless nothing could lie between them."""
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


def _understood(reading: Reading, arguments: Conditions, conditions: Conditions, asked: Json) -> Iterator[Understood]:
    """What the words said, as far as no argument goes before it, and what the arguments said."""
    overruled = {name for name in arguments.stated if not _holds(reading.conditions, conditions, name)}
    said: dict[str, str] = {}
    for each in reading.understood:
        if not overruled.isdisjoint(each.about):
            said.update(dict.fromkeys(each.about, each.condition))
        else:
            yield each
    for name in arguments.stated:
        contradicted = f" (argument; the words said {said[name]})" if name in said else ""
        yield Understood(describe_condition(name, arguments) + contradicted, stated_by(name, asked))
    if (sort := asked.get("sort")) and sort != RELEVANCE:
        yield Understood(describe_ordering(Ordering(sort)), "sort")


def _holds(words: Conditions, conditions: Conditions, name: str) -> bool:
    """Whether what the words state under a name still holds."""
    said, holds = getattr(words, name), getattr(conditions, name)
    if not isinstance(said, Range):
        return not said or said == holds
    return bool(said.narrowed(holds) == holds)
