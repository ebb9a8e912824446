"""Which of a conversation's calls bear on what is asked now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from session.history import HistoryEntry
from tools.contract import Json, Tool
from tools.store.search.text.romaji import sound_key
from tools.store.search.text.tokens import words

SAME_TITLE, SAME_WORD, SAME_TOOL = 3.0, 1.0, 0.5
MOST_WORDS = 3
"""More words in common do not outweigh a title in common by more than others do."""
SHORTEST_NAME = 3
"""Characters of its sound by which a name is found within a text."""


@dataclass(frozen=True, slots=True)
class About:
    """What is asked now: its words and how they sound, the titles that it names by id, and of which tool it is asked."""

    words: frozenset[str]
    sound: str
    title_ids: frozenset[str] = frozenset()
    tool: str = ""

    @classmethod
    def text(cls, text: str, title_ids: Iterable[str] = (), tool: str = "") -> About:
        return cls(frozenset(words(text)), sound_key(text), frozenset(title_ids), tool)

    @classmethod
    def call(cls, tool: Tool, arguments: Json, shown: Sequence[str]) -> About:
        """Of a call with these arguments; one that names no title is about those `shown` last."""
        named = [arguments.get("title_id"), *(arguments.get("title_ids") or ())]
        return cls.text(said(tool, arguments), [each for each in named if each] or shown, tool.name)


def said(tool: Tool, arguments: Json) -> str:
    """What of the arguments is in the customer's own words."""
    return " ".join(str(arguments[name]) for name in tool.words if arguments.get(name))


def bearing(calls: Sequence[HistoryEntry], about: About, most: int) -> list[HistoryEntry]:
    """At most so many of the calls, in their order: those that have most in common with what is asked, titles before words
    before the tool, and of equals the latest. So where nothing is in common, it is the latest calls."""
    ranked = sorted(range(len(calls)), key=lambda at: (-_common(calls[at], about), at))
    return [calls[at] for at in sorted(ranked[:most])]


def _common(call: HistoryEntry, about: About) -> float:
    """How much a call has in common with what is asked."""
    texts = [call.words, call.summary, *(name for _, name in call.shown)]
    words_in_common = about.words.intersection(words(" ".join(texts)))
    same_title = _title_ids(call) & about.title_ids or any(_named(name, about.sound) for _, name in call.shown)
    return (
        SAME_TITLE * bool(same_title)
        + SAME_WORD * min(len(words_in_common), MOST_WORDS)
        + SAME_TOOL * (call.tool == about.tool)
    )


def _title_ids(call: HistoryEntry) -> set[str]:
    asked, listed = call.arguments.get("title_id"), call.arguments.get("title_ids")
    named = [*(listed if isinstance(listed, list) else ()), *([asked] if asked else ())]
    return {title_id for title_id, _ in call.shown} | set(map(str, named))


def _named(name: str, sound: str) -> bool:
    own = sound_key(name)
    return len(own) >= SHORTEST_NAME and own in sound
