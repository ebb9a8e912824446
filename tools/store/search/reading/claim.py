"""One thing that some words of a text state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from tools.store.models import Conditions, Ordering
from tools.store.search.reading.freedom import Freedom

NOTHING = Conditions()


class Relative(Enum):
    """What is wanted beside the title that the text compares with."""

    SHORTER = "shorter"
    LONGER = "longer"
    NEWER = "newer"
    OLDER = "older"
    BY_ANOTHER = "by another author"


class About(Enum):
    """What the names of a claim are to it."""

    EXCLUDED = "excluded"
    """Titles, authors or tags that are not wanted: "nothing by Oda", "except Naruto"."""
    LIKE = "like"
    """The title that what is wanted is like: no answer itself."""
    KNOWN = "known"
    """Titles that the customer has read or owns: no answers."""
    NAMESAKE = "namesake"
    """Words of a theme that is not wanted; what is called by them is not wanted either: モンスター以外."""
    EXCEPTED = "excepted"
    """The same of an exception; where several words of it name a title, that alone is meant: "besides Food Wars"."""
    PERMITTED = "permitted"
    """What was not wanted and then is: its conditions are withdrawn. "No horror. Actually, horror is fine"."""
    ENDURED = "endured"
    """The same in words by which hardly anybody asks for it: "violence is ok but no gore", "I don't mind romance"."""
    BY = "by"
    """An author whose titles are wanted."""


PERMITTING = (About.PERMITTED, About.ENDURED)
"""What takes back exclusions, and excludes nothing itself."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The words `text[start:end]` of a normalised text state `conditions`, an `ordering`, or something of the `names` in
    them (as `about` says), which only the catalogue can tell: "except Naruto" excludes a title, "except horror" a tag.

    `says` is the condition in a few English words: "finished", "at most 9 volumes", "without Gore". `obeyed`: False for what
    was understood and cannot be judged by facts ("can be here by Friday"). `loose`: its measure is ours, as of "short" and
    "recent"; it yields to a number that is stated of the same. `relative`: to the first title of a claim about `LIKE`.
    `adult`: titles for adults alone are asked for. `freedom`: what is said to be no requirement. `again`: what the customer
    had before is to say what is wanted.
    """

    start: int
    end: int
    says: str
    conditions: Conditions = NOTHING
    ordering: Ordering | None = None
    names: tuple[str, ...] = ()
    about: About | None = None
    obeyed: bool = True
    loose: bool = False
    relative: Relative | None = None
    adult: bool = False
    freedom: Freedom | None = None
    again: bool = False


Find = Callable[[str], Iterable[Claim]]
"""A kind of claim: finds its own in a normalised text, in time linear in its length."""
