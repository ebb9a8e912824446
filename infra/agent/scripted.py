"""A model that reads from a script: the example runs anywhere, without credentials, and always asks for the same."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from strands.models import Model
from strands.types.content import ContentBlockStart, Messages
from strands.types.streaming import StreamEvent

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Use:
    """The model asks for a tool."""

    tool: str
    arguments: Json = field(default_factory=dict)


Say = Callable[[list[Json]], str]
"""The model answers, in words made from the results of the turn so far, oldest first."""


class ScriptedModel(Model):
    """A model for Strands that says and asks what its script has next."""

    def __init__(self, script: Sequence[Use | Say]) -> None:
        self._script = iter(script)
        self._uses = 0

    def _next(self, messages: Messages) -> Use | Say:
        """What to do now, after these messages."""
        return next(self._script)

    def get_config(self) -> Json:
        return {}

    def update_config(self, **model_config: Any) -> None:
        pass

    def structured_output(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Json, None]:
        raise NotImplementedError("the script has no structured output")

    async def stream(self, messages: Messages, *args: Any, **kwargs: Any) -> AsyncIterator[StreamEvent]:
        step = self._next(messages)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(step, Use):
            self._uses += 1
            start: ContentBlockStart = {"toolUse": {"name": step.tool, "toolUseId": f"use-{self._uses}"}}
            yield {"contentBlockStart": {"start": start}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(step.arguments)}}}}
        else:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": step(results_of_turn(messages))}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if isinstance(step, Use) else "end_turn"}}


def results_of_turn(messages: Messages) -> list[Json]:
    """What the tools answered since the customer last spoke, as the model is shown it: the first text of each result."""
    found: list[Json] = []
    for message in messages:
        results = [block["toolResult"] for block in message["content"] if "toolResult" in block]
        if message["role"] == "user" and not results:
            found.clear()
        found += [_read(result["content"][0]["text"]) for result in results]
    return found


def _read(text: str) -> Json:
    """What a tool answered, as an error where Strands speaks for a tool that was not reached."""
    try:
        return dict(json.loads(text))
    except ValueError:
        return {"error": {"name": "UNREACHED", "message": "the store does not answer"}}
