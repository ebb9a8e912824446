"""What the calls of one turn came to."""

from __future__ import annotations

from typing import Any

from strands.hooks import AfterToolCallEvent, HookProvider, HookRegistry

Json = dict[str, Any]
UNREACHED = "UNREACHED"
"""A call that no tool answered: the connection ended, or the time did."""


class Calls(HookProvider):
    """`made` has one object a call, in order: the tool, and "success" or the name of the error."""

    def __init__(self) -> None:
        self.made: list[Json] = []

    @property
    def unreached(self) -> bool:
        return any(each["outcome"] == UNREACHED for each in self.made)

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(AfterToolCallEvent, self.answered)

    def answered(self, event: AfterToolCallEvent) -> None:
        result: Json = dict(event.result)
        structured: Json = result.get("structuredContent") or {}
        if "error" in structured:
            outcome = structured["error"]["name"]
        else:
            outcome = "success" if result["status"] == "success" else UNREACHED
        self.made.append({"tool": event.tool_use["name"], "outcome": outcome})
