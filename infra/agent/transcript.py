"""Prints a conversation as it happens: the model's calls, their metadata, and the results."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent, HookProvider, HookRegistry

from infra.agent.store_tools import PREFIX, ToolOfTurn
from infra.agent.words import amount

Json = dict[str, Any]
WIDTH = 100
MOST_LINES = 3
TELLING = (
    "title_id", "title", "author", "price", "availability", "missing_volumes", "reason",
    "order_id", "total", "estimated_delivery", "shipments",
)  # fmt: skip
AMOUNT = re.compile("(price|total)_[a-z]{3}")


def line(who: str, text: str) -> None:
    first = f"{who:>8}  "
    print(textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first), break_on_hyphens=False))


class Transcript(HookProvider):
    """Prints each tool call and its result. `outcomes`: "success" or the error's name for each call, in order."""

    def __init__(self) -> None:
        self.outcomes: list[str] = []

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(BeforeToolCallEvent, self.asked)
        registry.add_callback(AfterToolCallEvent, self.answered)

    def asked(self, event: BeforeToolCallEvent) -> None:
        line("model", f"{event.tool_use['name']} {json.dumps(event.tool_use['input'], ensure_ascii=False)}")

    def answered(self, event: AfterToolCallEvent) -> None:
        result: Json = dict(event.result)
        structured: Json = result.get("structuredContent") or {}
        if isinstance(event.selected_tool, ToolOfTurn):
            line("_meta", " ".join(f"{key.removeprefix(PREFIX)}={value}" for key, value in event.selected_tool.meta.items()))
        line("server", " · ".join([result["status"], *_quality(result.get("metadata") or {})]))
        if "error" in structured:
            self.outcomes.append(structured["error"]["name"])
            line("", f"the model reads: {result['content'][0]['text']}")
        else:
            self.outcomes.append(result["status"])
            for text in (*_telling(structured)[:MOST_LINES], *_understood(structured)):
                line("", text)


def _quality(metadata: Json) -> list[str]:
    call = metadata.get(PREFIX + "call", {})
    budget = call.get("budget")
    left = f"{budget['remainingMs']} ms of the turn left" if budget else None
    took = f"{call['latencyMs']:.1f} ms" if call else None
    without = f"without {', '.join(call['degraded'])}" if call.get("degraded") else None
    return [each for each in (call.get("source"), without, took, left) if each]


def _telling(structured: Json) -> list[str]:
    rows = structured.get("results") or structured.get("items") or structured.get("recommendations") or [structured]
    return ["  ".join(text for _, text in sorted(_shown(row))) for row in rows]


def _shown(row: Json) -> Iterator[tuple[int, str]]:
    for key, value in row.items():
        name = found[1] if (found := AMOUNT.fullmatch(key)) else key
        if name in TELLING and value not in (None, []):
            yield TELLING.index(name), amount(key, value) if found else _said(key, value)


def _understood(structured: Json) -> list[str]:
    said = [each["condition"] for each in structured.get("understood", [])]
    return [f"understood: {', '.join(said)}"] if said else []


def _said(key: str, value: Any) -> str:
    match key:
        case "missing_volumes":
            return f"missing {', '.join(str(each) for each in value)}"
        case "shipments":
            return "; ".join(f"{each['carrier']} {each['tracking_number']}: {each['status']}" for each in value)
        case _:
            return str(value)
