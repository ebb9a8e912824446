"""Finds the words to search for in a text whose items were read: its subject."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tools.store.models import CatalogTerms
from tools.store.search.query.themes import ThemeTable
from tools.store.search.reading.items import Binding, Item
from tools.store.search.reading.tables import words_of
from tools.store.search.reading.tokens import Is, Token

EDGES = " ,.;:!?。、！？・/-()[]#\"'"
MOST_PIECES = 6
"""Most pieces of a text that are searched for, and most unknown words whose stance is judged."""
SPEAKERS = words_of("tellers")
_JA_EDGE = re.compile(r"^[のがはをにでともなへ]+|(?<!も)(?:[のがはをにでとなへ])+$")


@dataclass(frozen=True, slots=True)
class Subject:
    """The words of a text to search for. `gone` are the indexes of tokens that stated conditions or were taken back. If the
    text is `unread`, since nothing in it was read as a condition, all of it is searched for."""

    text: str
    tokens: Sequence[Token]
    bound: Binding
    terms: CatalogTerms
    gone: set[int]
    unread: bool

    def words(self) -> str:
        """Returns unknown words, wanted themes and titles, and the function words between them."""
        items = {item.at: item for item in self.bound.items}
        keep = [self._is_kept(i, items) for i in range(len(self.tokens))]
        if not any(keep):
            return ""
        if self.unread:
            return self.text
        segments = self._worth(keep)
        pieces: list[str] = []
        start: int | None = None
        last = 0
        for i, token in enumerate(self.tokens):
            plain = (
                token.kind == Is.GLUE
                or (token.kind is Is.OPERATOR and i not in self.bound.used and i not in self.gone)
                or (token.kind is Is.BREAK and token.entries[0].name in ("join", "soft"))
            )
            if keep[i] and self.bound.segments[i] in segments:
                start = i if start is None else start
                last = i
            elif start is not None and not plain:
                pieces.append(self._piece(start, last))
                start = None
        if start is not None:
            pieces.append(self._piece(start, last))
        cleaned = [
            _JA_EDGE.sub("", piece.strip(EDGES)) if any(ord(c) > 0x3000 for c in piece) else piece.strip(EDGES)
            for piece in pieces
        ]
        return " ".join(list(filter(None, cleaned))[:MOST_PIECES])

    def _piece(self, start: int, last: int) -> str:
        """Returns the text of tokens `start` to `last`, with tags in place of themes that the search or catalogue lacks."""
        made, end = "", self.tokens[start].start
        for i in range(start, last + 1):
            token = self.tokens[i]
            said = self.text[token.start : token.end]
            fact = token.fact
            here = fact is not None and (not self.terms.tags or any(tag in self.terms.tags for tag in fact.tags))
            if fact is not None and fact.tags and not fact.mood and not (here and ThemeTable.load().themes(said)):
                said = fact.tags[0].lower()
            made += self.text[end : token.start] + said
            end = token.end
        return made

    def _is_kept(self, i: int, items: Mapping[int, Item]) -> bool:
        token = self.tokens[i]
        if i in self.gone or i in self.bound.used:
            return False
        if i in self.bound.story:
            return token.kind is not Is.BREAK
        item = items.get(i)
        if item is not None:
            if item.fact is not None and item.fact.matter == "themes":
                return item.asked and not item.fact.alone
            return item.token.kind is Is.NAMED or (item.token.amount is not None)
        return token.kind is Is.WORD

    def _worth(self, keep: Sequence[bool]) -> set[int]:
        rich, poor = set[int](), set[int]()
        for i, kept in enumerate(keep):
            if kept:
                token = self.tokens[i]
                is_rich = token.kind is Is.NAMED or token.fact is not None or i in self.bound.story
                (rich if is_rich else poor).add(self.bound.segments[i])
        return rich or (poor if not self._is_talk(poor) else set())

    def _is_talk(self, segments: set[int]) -> bool:
        stated = {self.bound.segments[item.at] for item in self.bound.items if item.matter != "person"}
        if not stated or not segments.isdisjoint(stated):
            return False
        spoken = {self.bound.segments[i] for i, token in enumerate(self.tokens) if token.text in SPEAKERS}
        return segments <= spoken


def is_searched(text: str, token: Token) -> bool:
    """Returns True if `ThemeTable` finds a theme in the part of the text that the token covers."""
    return bool(ThemeTable.load().themes(text[token.start : token.end]))
