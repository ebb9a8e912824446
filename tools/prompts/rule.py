"""A rule of the trade: one line for every model, and what else there is to say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tools.contract import MayUse
from tools.prompts.saying import Language, Saying


@dataclass(frozen=True, slots=True)
class Rule:
    """Its `line` holds whichever tools are on, and stands in the server's instructions unless it is `prompt_only`; `more`
    stands behind it in the prompt."""

    name: str
    line: Saying
    more: Sequence[Saying] = ()
    prompt_only: bool = False

    def text(self, language: Language, may_use: MayUse) -> str:
        """One line, of what may be said to who asks; "" where that is nothing."""
        said = [each.text(language) for each in (self.line, *self.more) if each.fits(may_use)]
        return ("" if language == "ja" else " ").join(said)
