"""Observers of calls, and what a timeline shows, for tests."""

from __future__ import annotations

from dataclasses import dataclass, field

from server.call import Call
from session.resilience.deadline import Span, Timeline


@dataclass(slots=True)
class Wants:
    """Every call, or only those of `tools`."""

    traces: bool = False
    tools: tuple[str, ...] = ()
    asked: list[str] = field(default_factory=list)

    def wants(self, call: Call) -> bool:
        self.asked.append(call.name)
        return not self.tools or call.name in self.tools


def of_kind(timeline: Timeline | None, kind: str) -> list[Span]:
    assert timeline is not None
    return [each for each in timeline.spans if each.kind == kind]


def path(timeline: Timeline | None, span: Span) -> list[str]:
    """The names of what it was done in, the outermost first, and its own."""
    assert timeline is not None
    names = [span.name]
    while span.parent is not None:
        span = timeline.spans[span.parent]
        names.insert(0, span.name)
    return names
