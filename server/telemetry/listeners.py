"""Who hears of calls for a while: nobody, until somebody looks."""

from __future__ import annotations

from typing import Protocol

from server.call import Call
from server.telemetry.events import CallFinished


class Listener(Protocol):
    """A sink, and an observer of the calls that it wants to see in detail."""

    def __call__(self, event: CallFinished) -> None: ...

    def wants(self, call: Call) -> bool: ...


class Listeners:
    """A sink and an observer among the others, which passes on what those who listen want. Without any it costs a comparison
    a call. What they see becomes part of no trace by it."""

    traces = False

    def __init__(self) -> None:
        self._listening: tuple[Listener, ...] = ()

    def __len__(self) -> int:
        return len(self._listening)

    def __call__(self, event: CallFinished) -> None:
        for listener in self._listening:
            listener(event)

    def wants(self, call: Call) -> bool:
        """Asks each: they count what they see."""
        wanted = False
        for listener in self._listening:
            wanted |= listener.wants(call)
        return wanted

    def begin(self, listener: Listener) -> None:
        self._listening = (*self._listening, listener)

    def end(self, listener: Listener) -> None:
        self._listening = tuple(each for each in self._listening if each is not listener)
