"""What happened in a conversation so far, as a model reads it: within a number of tokens, however much there was.

A line a call, the latest first, and the list that was shown last with its numbers, so that "the second one" is somebody.
Where not all fits, the lines of older calls say less before any is left out, and no name is cut in two.
"""

from __future__ import annotations

from collections.abc import Sequence

from session.history import HistoryEntry, LastShown, Recollection
from tools.history.lines import LONGEST_NAME, LONGEST_WORDS, SOME_TOKENS, cut, forms_of, within
from tools.results.tokens import estimate

MOST_TOKENS = 400
LEAST_FOR_LIST, MOST_FOR_LIST, A_CALL = 100, 250, 8
"""Of these, for the list that was shown last: the more the fewer calls there are to tell."""
NOTHING_YET = "Nothing has been asked in this conversation yet."
NOT_KNOWN = "What was asked before in this conversation cannot be read right now."
CALLS = "Calls so far, latest first:"


def summary(past: Recollection, calls: Sequence[HistoryEntry], now: float, most_tokens: int = MOST_TOKENS) -> str:
    """Tells these `calls` of the past, and what any next call may refer to. `now` is in seconds since the epoch."""
    head = CALLS if calls else NOTHING_YET if past.known else NOT_KNOWN
    for_list = max(LEAST_FOR_LIST, MOST_FOR_LIST - A_CALL * len(calls))
    references = [*_shared(past), *([_list(past.last_shown, for_list)] if past.last_shown else [])]
    room = most_tokens - sum(map(_cost, (head, *references)))
    return "\n".join([head, *_fitting([forms_of(call, now) for call in calls], room), *references])


def _cost(line: str) -> int:
    """With the end of the line."""
    return estimate(line) + 1


def _fitting(lines: Sequence[Sequence[str]], room: int) -> list[str]:
    """First every call in its shortest form, as many as fit, then in longer ones for as many as can, the latest first."""
    costs = [[_cost(form) for form in line] for line in lines]
    while costs and sum(cost[0] for cost in costs) > room:
        costs.pop()
    forms, left = [0] * len(costs), room - sum(cost[0] for cost in costs)
    for longer in range(1, max(map(len, costs), default=0)):
        for at, cost in enumerate(costs):
            if (more := cost[longer] - cost[forms[at]]) <= left:
                forms[at], left = longer, left - more
    return [lines[at][form] for at, form in enumerate(forms)]


def _shared(past: Recollection) -> list[str]:
    title_id, title, order_id = (past.shared.get(name, "") for name in ("title_id", "title", "order_id"))
    told = [f"Last title: {title_id} {cut(title, LONGEST_NAME)}".rstrip()] if title_id else []
    return [*told, f"Last order: {order_id}"] if order_id else told


def _list(shown: LastShown, most_tokens: int) -> str:
    """Numbered as it was shown, with as many of its titles as fit; the rest is counted."""
    words = within(cut(shown.query, LONGEST_WORDS), SOME_TOKENS)
    line = f'Shown last by {shown.by} "{words}":' if words else f"Shown last by {shown.by}:"
    if not shown.title_ids:
        return f"{line} nothing was found"
    names = shown.titles or ("",) * len(shown.title_ids)
    for number, (title_id, name) in enumerate(zip(shown.title_ids, names, strict=False), start=1):
        longer = f"{line} {number}. {title_id} {cut(name, LONGEST_NAME)}".rstrip()
        if _cost(longer) > most_tokens:
            return f"{line} and {len(shown.title_ids) - number + 1} more"
        line = longer
    return line
