"""What must not be in it, as an argument names it: themes, readerships, authors, titles by name or id."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence

from session.resilience.deadline import Deadline
from tools.contract import ToolContext
from tools.store.failures import BackendFailure
from tools.store.identifiers import SAFE_ID
from tools.store.models import CatalogTerms, Conditions, NameMatches
from tools.store.search.reading.reading import Understood
from tools.store.search.text.characters import normalise

MOST_SECONDS, SHARE = 0.06, 1 / 3
"""What the catalogue may take of a call's time to say what goes by these names."""
_ID = re.compile(rf"(?=.*\d)(?:{SAFE_ID})")
"""An id has a number in it: a word alone is a name."""
NAMES = "names"
"""What an answer lacks whose catalogue did not say what goes by the names that were said."""
UNKNOWN = "nothing here goes by this"


async def excluded(context: ToolContext, names: Sequence[str]) -> tuple[Conditions, tuple[Understood, ...]]:
    """The conditions, and of each name what was understood by it."""
    if not names:
        return Conditions(), ()
    asked = list(dict.fromkeys(names))
    within = context.deadline.within(min(MOST_SECONDS, SHARE * context.deadline.remaining()))
    terms, called = await _known(context, [normalise(name) for name in asked], within)
    parts, conditions = [], Conditions()
    for name in asked:
        parts.append((name, part := _excluded(name, await context.store.reader.refused(name, terms, called))))
        conditions = conditions.and_also(part)
        await asyncio.sleep(0)  # others have a turn: twenty long names take milliseconds to look at
    return conditions, tuple(_understood(parts))


async def _known(
    context: ToolContext, names: Sequence[str], within: Deadline
) -> tuple[CatalogTerms, Mapping[str, NameMatches]]:
    """Each as far as the catalogue says in time. Without its terms, wordings say what is a tag; without its names, those at
    hand."""
    return await asyncio.gather(_terms(context, within), _called(context, names, within))


async def _terms(context: ToolContext, within: Deadline) -> CatalogTerms:
    try:
        return await context.store.catalog.terms(within)
    except BackendFailure:
        context.degraded.add(NAMES)
        return CatalogTerms({}, {})


async def _called(context: ToolContext, names: Sequence[str], within: Deadline) -> Mapping[str, NameMatches]:
    called, away = await context.store.reader.called(names, within)
    if away:
        context.degraded.add(NAMES)
    return called


def _excluded(name: str, refused: Conditions) -> Conditions:
    if refused.stated:
        return refused
    return Conditions(without_titles=(name,)) if _ID.fullmatch(name) else Conditions()


def _understood(parts: Sequence[tuple[str, Conditions]]) -> Iterator[Understood]:
    for name, part in parts:
        if part.stated:
            yield Understood(_worded(name, part), "without")
        else:
            yield Understood(f"without {name}: {UNKNOWN}", "without", obeyed=False)


def _worded(name: str, part: Conditions) -> str:
    if part.without_tags:
        return f"without {' or '.join(part.without_tags)}"
    return f"not by {name}" if part.without_authors else f"without {name}"
