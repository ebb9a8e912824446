"""What came of reading a text."""

from __future__ import annotations

from dataclasses import dataclass

from tools.store.models import Conditions, Ordering
from tools.store.search.reading.freedom import Freedom

NOTHING = Conditions()


@dataclass(frozen=True, slots=True)
class Understood:
    """A condition in a few English words ("at most 9 volumes"), and the words of the text that state it. `about`: the names
    of the fields of `Conditions` that it fills, so that who overrules one knows whose words those were."""

    condition: str
    words: str
    obeyed: bool = True
    about: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """`subject`: the text without the words that state something, to search by; possibly empty. `conditions`: what has to
    hold, the titles that must not be answers among them (`without_titles`). `like`: ids of the titles that the answers are
    to be like; `known`: ids of titles that the customer said they know, which those of `like` are among. `vague`: nothing
    that is left says what a title is about ("something good"). `adult`: the words ask for what is sold to adults alone.
    `freedoms`: what is no requirement, whatever was asked for before. `remarks`: sentences on what it states and nothing can
    be. `named`: ids of the titles that it asks for by name. `again`: something like what the customer had before is
    asked for. `another`: somebody else is to read it. `absent`:
    themes that nothing in the catalogue has. `welcome`: tags and readerships that are named and not refused, `endorsed`
    those of them that some word says are liked. `unnamed`: the catalogue did not say in time what goes by the names in
    the text, and what was said of them is lost."""

    text: str
    subject: str
    conditions: Conditions = NOTHING
    ordering: Ordering | None = None
    like: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    understood: tuple[Understood, ...] = ()
    vague: bool = False
    adult: bool = False
    freedoms: tuple[Freedom, ...] = ()
    remarks: tuple[str, ...] = ()
    again: bool = False
    named: tuple[str, ...] = ()
    another: bool = False
    absent: tuple[str, ...] = ()
    welcome: frozenset[str] = frozenset()
    endorsed: frozenset[str] = frozenset()
    welcome_genres: frozenset[str] = frozenset()
    along: tuple[tuple[str, frozenset[str]], ...] = ()
    unnamed: bool = False

    @property
    def doubted(self) -> bool:
        """Whether anything in it was understood and is not obeyed."""
        return any(not each.obeyed for each in self.understood)
