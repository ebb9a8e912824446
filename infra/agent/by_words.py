"""Deterministic Strands model that chooses tool calls by keywords in the question, without Bedrock."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from strands.models import Model
from strands.types.content import ContentBlockStart, Messages
from strands.types.streaming import StreamEvent

from infra.agent.choosing import Json, next_step


class ModelByWords(Model):
    """Chooses each step by keywords in the messages alone, so conversations can share an instance. `thinking_seconds`:
    duration of each step."""

    def __init__(self, thinking_seconds: float = 0) -> None:
        self._thinking_seconds = thinking_seconds
        self._uses = 0

    def get_config(self) -> Json:
        return {}

    def update_config(self, **model_config: Any) -> None:
        pass

    def structured_output(self, *args: Any, **kwargs: Any) -> AsyncGenerator[Json, None]:
        raise NotImplementedError("it speaks in words alone")

    async def stream(self, messages: Messages, *args: Any, **kwargs: Any) -> AsyncIterator[StreamEvent]:
        await asyncio.sleep(self._thinking_seconds)
        step = next_step(messages)
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(step, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": step}}}
        else:
            self._uses += 1
            start: ContentBlockStart = {"toolUse": {"name": step[0], "toolUseId": f"use-{self._uses}"}}
            yield {"contentBlockStart": {"start": start}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(step[1])}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(step, str) else "tool_use"}}
