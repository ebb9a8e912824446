"""Sentences for a model, the same in English and Japanese."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from tools.contract import MayUse

Language = Literal["en", "ja"]
TOOL = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Saying:
    """A tool is named in braces, `{check_inventory}`. What names one is said only to who may call it."""

    en: str
    ja: str

    def text(self, language: Language) -> str:
        return TOOL.sub(r"\1", self._in(language))

    def tools(self, language: Language) -> set[str]:
        return set(TOOL.findall(self._in(language)))

    def fits(self, may_use: MayUse) -> bool:
        """Tells whether each tool that it names is on for who asks."""
        return all(map(may_use, self.tools("en")))

    def _in(self, language: Language) -> str:
        return self.ja if language == "ja" else self.en
