"""Slips in the words that state something: "finishd", "voluems", "compleeted"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rapidfuzz.distance import OSA

_STATING = """
finished completed complete ongoing publishing published released hiatus cancelled canceled discontinued unfinished
volumes volume single-volume eighties nineties seventies classic digital available popular newest shortest cheapest
award-winning without between except excluding
horror romance violence violent comedy fantasy supernatural triangle triangles historical psychological mystery drama
shoujo shounen seinen nephew niece daughter children
"""
_WORDS = frozenset(_STATING.split())
_WORD = re.compile(r"(?<![a-z'-])[a-z-]{5,16}(?![a-z'-])")


@dataclass(frozen=True, slots=True)
class Spelling:
    """A text with its slips mended, and where each of its characters stands in the text as it was typed."""

    text: str
    places: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> Spelling:
        """Mends words of five letters and more that are one slip (a letter too many, too few, wrong, or two swapped) from a
        word that states something."""
        slips = [(match, meant) for match in _WORD.finditer(text) if (meant := _meant(match[0])) is not None]
        if not slips:
            return cls(text, ())
        pieces: list[str] = []
        places: list[int] = []
        start = 0
        for match, meant in slips:
            pieces += (text[start : match.start()], meant)
            places += range(start, match.start())
            places += (*range(match.start(), match.end() - 1), *[match.end() - 1] * len(meant))[: len(meant) - 1]
            places.append(match.end() - 1)
            start = match.end()
        return cls("".join((*pieces, text[start:])), (*places, *range(start, len(text) + 1)))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where a span of the mended text is in the text as it was typed."""
        return (self.places[start], self.places[end - 1] + 1) if self.places else (start, end)


def _meant(word: str) -> str | None:
    if word in _WORDS or word.removesuffix("s") in _WORDS:
        return None
    near = (known for known in _WORDS if known[0] == word[0] and OSA.distance(word, known, score_cutoff=1) <= 1)
    return next(near, None)
