"""What is said beside a title that is compared with: "like Naruto but romantic". A search for titles like one knows no more
than that title, so themes and moods beside it are conditions, which may be let go."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace

from tools.conditions.wanted import Want
from tools.contract import ToolContext
from tools.store.models import Conditions
from tools.store.search.conditions.wording import describe_condition
from tools.store.search.query.parsed import ToneTable
from tools.store.search.query.themes import ThemeTable
from tools.store.search.reading.reading import Understood
from tools.store.search.text.characters import normalise

AS_BEFORE = "A search does not know what the customer had before: ask which title they mean."


async def differing(context: ToolContext, want: Want) -> Want:
    """The want, with conditions of what it says beside the titles to compare with. Of what the customer had before a search
    knows nothing."""
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
    """The themes and moods that a text names, as tags that are `known`; of a mood the wrong tone is left out, as far as
    nothing else asks for it."""
    tones, rest = ToneTable.load().read(normalise(text))
    asked = [*(theme.tags for theme in ThemeTable.load().themes(rest)), *(tone.wanted for tone in tones)]
    groups = dict.fromkeys(tuple(_known(group, known)) for group in asked)
    wanted = {tag for group in groups for tag in group}
    wrong = dict.fromkeys(tag for tone in tones for tag in _known(tone.unwanted, known) if tag not in wanted)
    return Conditions(tags=tuple(filter(None, groups)), without_tags=tuple(wrong))


def _known(tags: tuple[str, ...], known: Container[str]) -> Iterator[str]:
    return (tag for tag in tags if tag in known)
