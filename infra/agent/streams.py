"""Bedrock model whose streams are read no longer than somebody listens."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from strands.models import BedrockModel
from strands.types.streaming import StreamEvent


class _Ended(threading.Event):
    """Is set once its stream has no reader any more, or while `other` is set."""

    def __init__(self, other: threading.Event | None) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        return super().is_set() or (self._other is not None and self._other.is_set())


class OwnedStreams(BedrockModel):
    """Ends the thread that reads a stream, at the next piece of it, when nobody listens any more. The agent's own signal
    does not: Strands clears it at the end of a turn, before the thread looks, and never sets it for a cancelled task."""

    async def stream(
        self, *asked: Any, cancel_signal: threading.Event | None = None, **more: Any
    ) -> AsyncGenerator[StreamEvent, None]:
        ended = _Ended(cancel_signal)
        try:
            async with aclosing(super().stream(*asked, cancel_signal=ended, **more)) as events:
                async for event in events:
                    yield event
        finally:
            ended.set()
