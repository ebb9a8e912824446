"""Chooses the next tool call, or the answer, by keywords in the question, in place of a real model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from infra.agent.words import sentence, tell_known

ORDER_ID = re.compile(r"\b[A-Z]{1,8}-(?=[A-Z0-9]*[0-9])[A-Z0-9]{4,20}\b", re.IGNORECASE)
"""Matches order numbers of any shop that writes letters before a hyphen."""
ADVICE = re.compile(r"recommend|suggest|advise|おすすめ", re.IGNORECASE)
MOODS = re.compile(r"^(?:I'm in the mood for|And for|Good\. And|Do you have) ?|[.?] (?=What do you have).*$|[.?]$")
"""Words around the subject of a question, which are removed."""
DOZEN = re.compile(r"\bdozen\b")
WHICH = re.compile(r"\b(first|second|third|fourth|fifth)( one)?\b.*\bstock\b")
ORDINALS = ("first", "second", "third", "fourth", "fifth")
SHOWN = re.compile(r"\b([1-5])\. ([A-Za-z0-9-]*[0-9][A-Za-z0-9-]*) ")
"""Matches an entry of the list shown last in the server's summary: number and title id."""
MOST_QUERY = 200
"""Most characters of a question that are searched for; the server takes no more."""
LATEST = re.compile(r"\blatest order\b")
GIFT = re.compile(r"\bfor my\b")
Json = dict[str, Any]
Messages = Sequence[Mapping[str, Any]]
Use = tuple[str, Json]


def next_step(messages: Messages) -> Use | str:
    """Returns the next tool and its arguments, or the text of the answer. `messages`: the conversation, in Strands' form."""
    results, question, earlier = results_of_turn(messages), question_of(messages), earlier_of(messages)
    if results and "error" in results[-1]:
        return _after_failure(results[-1]["error"], question)
    if (found := ORDER_ID.search(question)) or LATEST.search(question):
        uses: list[Use] = [("lookup_order", {"order_id": found[0].upper()} if found else {})]
    elif ADVICE.search(question):
        count = 12 if DOZEN.search(question) else 3
        uses = [("get_recommendations", {"criteria": _subject(question), "count": count})]
    elif (which := WHICH.search(question)) and (shown := dict(SHOWN.findall(earlier))):
        title = shown.get(str(ORDINALS.index(which[1]) + 1))
        uses = [("check_inventory", {"title_ids": [title]} if title else {})]
    else:
        uses = [("search_manga_catalog", {"query": _subject(question), "max_results": 3})]
        if not GIFT.search(question) and (not results or results[0].get("results")):
            uses.append(("check_inventory", {}))  # without ids it checks the titles of the search
    if len(results) < len(uses):
        return uses[len(results)]
    return tell_known(results[-1:], question, "have") or sentence("nothing", question)


def _subject(question: str) -> str:
    return MOODS.sub("", question)[:MOST_QUERY]


def _after_failure(error: Json, question: str) -> Use | str:
    """Returns a recommendation call with the largest count that the error allows; for other errors, a sentence."""
    for each in error.get("data", {}).get("details", {}).get("violations", ()):
        if each["path"] == "$.count" and (most := re.search(r"at most (\d+)", each["fix"])):
            return "get_recommendations", {"criteria": _subject(question), "count": int(most[1])}
    return f"I could not look that up: {error.get('message') or 'the store gave no reason'}"


def question_of(messages: Messages) -> str:
    """Returns the customer's latest message; "" if there is none."""
    return next((texts[-1] for texts in _spoken(messages)), "")


def earlier_of(messages: Messages) -> str:
    """Returns the summary of earlier turns that precedes the question; "" if there is none."""
    return next((" ".join(texts[:-1]) for texts in _spoken(messages)), "")


def _spoken(messages: Messages) -> list[list[str]]:
    texts = [[block["text"] for block in each["content"] if "text" in block] for each in messages if each["role"] == "user"]
    return [each for each in reversed(texts) if each]


def results_of_turn(messages: Messages) -> list[Json]:
    """Returns the tools' results since the customer's latest message, each parsed from its first text block."""
    found: list[Json] = []
    for message in messages:
        results = [block["toolResult"] for block in message["content"] if "toolResult" in block]
        if message["role"] == "user" and not results:
            found.clear()
        found += [_read(result["content"][0]["text"]) for result in results]
    return found


def _read(text: str) -> Json:
    """Parses a tool's result. Text that is not JSON becomes an error, since Strands reports an unreached tool as text."""
    try:
        return dict(json.loads(text))
    except ValueError:
        return {"error": {"name": "UNREACHED", "message": "the store does not answer"}}
