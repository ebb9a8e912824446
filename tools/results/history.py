"""Formats a session's history as text for a model, within a number of tokens.

Each call takes one line, the latest call first. The titles shown last follow with their numbers, so that a model can resolve
"the second one". If not everything fits, older lines are shortened before any is left out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from session.history import HistoryEntry, LastShown, Recollection
from tools.contract import Json, Tool
from tools.results.shortening import estimate
from tools.schema.text import remove_hidden
from tools.store.search.text.romaji import sound_key
from tools.store.search.text.tokens import words

MOST_NAMES = 3
LONGEST_NAME, LONGEST_WORDS, LONGEST_OUTCOME, LONGEST_VALUE = 40, 80, 60, 30
FEW_TOKENS, SOME_TOKENS = 6, 12
"""Most tokens of the customer's words in the second and in the third form of a line (`describe_call`)."""
SAYS_LITTLE = frozenset(("get", "manga", "catalog"))
"""Words left out of tool names, since they do not tell tools apart."""
TOLD_BY_NAMES = frozenset(("title_id", "title_ids", "result_set", "max_results", "count"))
"""Names of arguments that are left out of a line, since the titles shown say more."""


def describe_call(call: HistoryEntry, now: float) -> tuple[str, str, str, str]:
    """Describes a call in four lengths. The first has the call's age and the tool; the second adds the customer's words or
    the outcome, the third has both, the fourth also arguments and titles shown. `now`: seconds since the epoch."""
    bare = f"{format_age(now - call.at)} {short_name(call.tool)}"
    outcome, words = cut(call.summary, LONGEST_OUTCOME), cut(call.words, LONGEST_WORDS)
    asked = words and call.succeeded
    told = _quote(cut_to_tokens(words, FEW_TOKENS)) if asked else f": {cut_to_tokens(outcome, FEW_TOKENS)}"
    brief = f"{bare}{_quote(cut_to_tokens(words, SOME_TOKENS))}: {outcome}"
    full = f"{bare}{_quote(words)}{_arguments(call.arguments)}: {outcome}{_names(call, outcome)}"
    return bare, bare + told, brief, full


def short_name(tool: str) -> str:
    words = tool.split("_")
    return " ".join([word for word in words if word not in SAYS_LITTLE] or words)


def format_age(seconds: float) -> str:
    """Formats a duration in one unit: "45s", "12m" or "3h"."""
    whole = max(0, round(seconds))
    return f"{whole}s" if whole < 60 else f"{whole // 60}m" if whole < 3600 else f"{whole // 3600}h"


def cut(text: str, longest: int) -> str:
    """Returns the visible text on one line of at most `longest` characters; an ellipsis marks a cut."""
    shown = " ".join(remove_hidden(text).split()).replace('"', "'")
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def cut_to_tokens(text: str, tokens: int) -> str:
    end = bisect_right(range(len(text) + 1), tokens, key=lambda length: estimate(text[:length])) - 1
    return text if end == len(text) else text[:end] + "…"


def _quote(words: str) -> str:
    return f' "{words}"' if words else ""


def _arguments(arguments: Mapping[str, object]) -> str:
    shown = {name: value for name, value in arguments.items() if value and name not in TOLD_BY_NAMES}
    return "".join(f" {name}={cut(_text(value), LONGEST_VALUE)}" for name, value in shown.items())


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _names(call: HistoryEntry, outcome: str) -> str:
    names = [cut(name, LONGEST_NAME) for _, name in call.shown if name]
    told = [name for name in names[:MOST_NAMES] if name not in outcome]
    return f": {'; '.join(told)}{'; …' if len(names) > MOST_NAMES else ''}" if told else ""


SAME_TITLE, SAME_WORD, SAME_TOOL = 3.0, 1.0, 0.5
MOST_WORDS = 3
"""Most shared words that count for similarity; together they weigh as much as a shared title."""
SHORTEST_NAME = 3
"""Least characters of a name's phonetic key to look for within a text."""


def customer_words(tool: Tool, arguments: Json) -> str:
    return " ".join(str(arguments[name]) for name in tool.words if arguments.get(name))


def select_for_call(
    calls: Sequence[HistoryEntry], most: int, tool: Tool, arguments: Json, shown: Sequence[str]
) -> list[HistoryEntry]:
    """Returns at most `most` of `calls`: those most similar to a call of `tool` with these arguments, in their given
    order. A call whose arguments name no title is about the ids `shown` last."""
    named = [arguments.get("title_id"), *(arguments.get("title_ids") or ())]
    title_ids = [each for each in named if each] or shown
    return select_relevant(calls, most, customer_words(tool, arguments), title_ids, tool.name)


def select_relevant(
    calls: Sequence[HistoryEntry], most: int, text: str, title_ids: Iterable[str] = (), tool: str = ""
) -> list[HistoryEntry]:
    """Returns at most `most` calls: those most similar to a text, titles and a tool, in their given order. Of equally
    similar calls the first are taken."""
    about, sound, ids = frozenset(words(text)), sound_key(text), frozenset(title_ids)

    def score(call: HistoryEntry) -> float:
        texts = [call.words, call.summary, *(name for _, name in call.shown)]
        words_in_common = about.intersection(words(" ".join(texts)))
        same_title = _title_ids(call) & ids or any(_is_named(name, sound) for _, name in call.shown)
        return (
            SAME_TITLE * bool(same_title)
            + SAME_WORD * min(len(words_in_common), MOST_WORDS)
            + SAME_TOOL * (call.tool == tool)
        )

    ranked = sorted(range(len(calls)), key=lambda at: (-score(calls[at]), at))
    return [calls[at] for at in sorted(ranked[:most])]


def _title_ids(call: HistoryEntry) -> set[str]:
    asked, listed = call.arguments.get("title_id"), call.arguments.get("title_ids")
    named = [*(listed if isinstance(listed, list) else ()), *([asked] if asked else ())]
    return {title_id for title_id, _ in call.shown} | set(map(str, named))


def _is_named(name: str, sound: str) -> bool:
    own = sound_key(name)
    return len(own) >= SHORTEST_NAME and own in sound


MOST_TOKENS = 400
LEAST_FOR_LIST, MOST_FOR_LIST, A_CALL = 100, 250, 8
"""The list shown last gets `MOST_FOR_LIST` tokens, less `A_CALL` for each call, but at least `LEAST_FOR_LIST`."""
NOTHING_YET = "Nothing has been asked in this conversation yet."
NOT_KNOWN = "Earlier calls of this conversation cannot be read right now."
CALLS = "Calls so far, latest first:"


def summarise(past: Recollection, calls: Sequence[HistoryEntry], now: float, most_tokens: int = MOST_TOKENS) -> str:
    """Formats the calls, then the title, order and list of titles shown last, within `most_tokens`. `now`: seconds since the
    epoch."""
    head = CALLS if calls else NOTHING_YET if past.known else NOT_KNOWN
    for_list = max(LEAST_FOR_LIST, MOST_FOR_LIST - A_CALL * len(calls))
    references = [*_describe_shared(past), *([_describe_list(past.last_shown, for_list)] if past.last_shown else [])]
    room = most_tokens - sum(map(_count_tokens, (head, *references)))
    return "\n".join([head, *_choose_forms([describe_call(call, now) for call in calls], room), *references])


def _count_tokens(line: str) -> int:
    return estimate(line) + 1


def _choose_forms(lines: Sequence[Sequence[str]], room: int) -> list[str]:
    """Chooses one form of each line so that all fit into `room` tokens: the shortest forms of as many lines as fit, then
    longer forms, first lines first. `lines`: the forms of each line, shortest first."""
    costs = [[_count_tokens(form) for form in line] for line in lines]
    while costs and sum(cost[0] for cost in costs) > room:
        costs.pop()
    forms, left = [0] * len(costs), room - sum(cost[0] for cost in costs)
    for longer in range(1, max(map(len, costs), default=0)):
        for at, cost in enumerate(costs):
            if (more := cost[longer] - cost[forms[at]]) <= left:
                forms[at], left = longer, left - more
    return [lines[at][form] for at, form in enumerate(forms)]


def _describe_shared(past: Recollection) -> list[str]:
    title_id, title, order_id = (past.shared.get(name, "") for name in ("title_id", "title", "order_id"))
    told = [f"Last title: {title_id} {cut(title, LONGEST_NAME)}".rstrip()] if title_id else []
    return [*told, f"Last order: {order_id}"] if order_id else told


def _describe_list(shown: LastShown, most_tokens: int) -> str:
    """Lists the titles with their numbers as shown, as many as fit into `most_tokens`, and counts the rest."""
    words = cut_to_tokens(cut(shown.query, LONGEST_WORDS), SOME_TOKENS)
    line = f'Shown last by {shown.by} "{words}":' if words else f"Shown last by {shown.by}:"
    if not shown.title_ids:
        return f"{line} nothing was found"
    names = shown.titles or ("",) * len(shown.title_ids)
    for number, (title_id, name) in enumerate(zip(shown.title_ids, names, strict=False), start=1):
        longer = f"{line} {number}. {title_id} {cut(name, LONGEST_NAME)}".rstrip()
        if _count_tokens(longer) > most_tokens:
            return f"{line} and {len(shown.title_ids) - number + 1} more"
        line = longer
    return line
