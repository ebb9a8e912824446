"""A call of the past in a line: when, what was asked, what came of it, what was shown."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from session.history import HistoryEntry
from tools.results.tokens import estimate
from tools.schema.text import visible

MOST_NAMES = 3
LONGEST_NAME, LONGEST_WORDS, LONGEST_OUTCOME, LONGEST_VALUE = 40, 80, 60, 30
FEW_TOKENS, SOME_TOKENS = 6, 12
"""Of what was said, in a short line."""
SAYS_LITTLE = frozenset(("get", "manga", "catalog"))
"""Words in the names of tools that no reader misses."""
TOLD_BY_NAMES = frozenset(("title_id", "title_ids", "result_set", "max_results", "count"))
"""Arguments of which the titles that were shown say more."""


def forms_of(call: HistoryEntry, now: float) -> tuple[str, str, str, str]:
    """The same call in more and more words: that it was; what was asked, or what came of it; both; and what was shown. `now`
    is in seconds since the epoch."""
    bare = f"{ago(now - call.at)} {spoken(call.tool)}"
    outcome, words = cut(call.summary, LONGEST_OUTCOME), cut(call.words, LONGEST_WORDS)
    told = _quoted(within(words, FEW_TOKENS)) if words and call.succeeded else f": {within(outcome, FEW_TOKENS)}"
    brief = f"{bare}{_quoted(within(words, SOME_TOKENS))}: {outcome}"
    full = f"{bare}{_quoted(words)}{_arguments(call.arguments)}: {outcome}{_names(call, outcome)}"
    return bare, bare + told, brief, full


def spoken(tool: str) -> str:
    """The name of a tool in as few words as tell it from others."""
    words = tool.split("_")
    return " ".join([word for word in words if word not in SAYS_LITTLE] or words)


def ago(seconds: float) -> str:
    """How long ago, in one unit."""
    whole = max(0, round(seconds))
    return f"{whole}s" if whole < 60 else f"{whole // 60}m" if whole < 3600 else f"{whole // 3600}h"


def cut(text: str, longest: int) -> str:
    """In one line, without what no reader sees, and marked where it was longer."""
    shown = " ".join(visible(text).split()).replace('"', "'")
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def within(text: str, tokens: int) -> str:
    """The text, or so much of its beginning as comes to that many tokens."""
    end = bisect_right(range(len(text) + 1), tokens, key=lambda length: estimate(text[:length])) - 1
    return text if end == len(text) else text[:end] + "…"


def _quoted(words: str) -> str:
    return f' "{words}"' if words else ""


def _arguments(arguments: Mapping[str, object]) -> str:
    said = {name: value for name, value in arguments.items() if value and name not in TOLD_BY_NAMES}
    return "".join(f" {name}={cut(_text(value), LONGEST_VALUE)}" for name, value in said.items())


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _names(call: HistoryEntry, outcome: str) -> str:
    names = [cut(name, LONGEST_NAME) for _, name in call.shown if name]
    told = [name for name in names[:MOST_NAMES] if name not in outcome]
    return f": {'; '.join(told)}{'; …' if len(names) > MOST_NAMES else ''}" if told else ""
