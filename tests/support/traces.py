"""Calls as the spans that a collector would get."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan

from server.telemetry.events import CallFinished
from server.tracing.sending import spans_of as spans_of_call

ENDED = 1_700_000_000_000_000_000


def spans_of(event: CallFinished, systems: Mapping[str, str] | None = None) -> list[ReadableSpan]:
    """Of a call that was watched; the first is its own."""
    assert event.timeline is not None
    return list(spans_of_call(event, event.timeline, ENDED, Resource({"service.name": "it"}), systems or {}))
