"""Translates errors of the driver to the store's failures. No message carries a text or an address of the driver's; the
original stays attached as the cause, for a debugger."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from opensearchpy.exceptions import ConnectionError as DriverConnectionError
from opensearchpy.exceptions import ConnectionTimeout, OpenSearchException, SerializationError, TransportError

from session.resilience.deadline import Deadline
from tools.store.failures import BackendFailure, DependencyFailure, QuestionRefused, Throttled, TimedOut

THROTTLE_RETRY_MS = 200
_DEPENDENCY = "catalog"
_CANCELLED = ("task_cancelled_exception", "timeout_exception", "search_phase_timeout_exception")


class MalformedAnswer(ValueError):
    """An answer of OpenSearch, or of a server in its place, that makes no sense."""


class IndexMissing(DependencyFailure):
    """No index has the catalogue's name: it was never loaded, or under another name."""

    def __init__(self) -> None:
        super().__init__("The index of the catalogue is not there.", dependency=_DEPENDENCY)


@asynccontextmanager
async def answering(deadline: Deadline) -> AsyncIterator[None]:
    """Ends the block at the deadline, and turns its errors into a `BackendFailure`."""
    try:
        if deadline.expired():
            raise TimeoutError
        async with asyncio.timeout(deadline.remaining()):
            yield
    except BackendFailure:
        raise
    except (OpenSearchException, OSError, EOFError, LookupError, TypeError, ValueError, AttributeError) as error:
        # The driver takes error bodies apart without looking, so nonsense from a proxy ends as any of the last four.
        raise failure_of(error) from error


def failure_of(error: Exception) -> BackendFailure:
    """The failure for an error of the driver, or for an answer that can't be read."""
    if isinstance(error, (TimeoutError, ConnectionTimeout)):
        return timed_out()
    if isinstance(error, (DriverConnectionError, OSError, EOFError)):
        return DependencyFailure("The catalogue cannot be reached.", dependency=_DEPENDENCY)
    if isinstance(error, TransportError) and not isinstance(error, SerializationError):
        kind = error.error if isinstance(error.error, str) else ""
        return _refused(error.status_code if isinstance(error.status_code, int) else 500, kind)
    message = "The catalogue answered with something that cannot be read."
    return DependencyFailure(message, dependency=_DEPENDENCY)


def timed_out() -> TimedOut:
    return TimedOut("The catalogue did not answer in time.", dependency=_DEPENDENCY)


def check_answer(answer: Any) -> Mapping[str, Any]:
    """One answer of a multi-search. Half an answer (late or missing shards) is a failure.

    Raises BackendFailure, MalformedAnswer.
    """
    if not isinstance(answer, dict):
        raise MalformedAnswer("an answer is no object")
    if (error := answer.get("error")) is not None:
        kind = error.get("type", "") if isinstance(error, dict) else ""
        # The first cause: shards' reasons are wrapped in `search_phase_execution_exception`.
        causes = error.get("root_cause") if isinstance(error, dict) else None
        first = causes[0] if isinstance(causes, list) and causes and isinstance(causes[0], dict) else {}
        raise _refused(int(answer.get("status", 500)), str(first.get("type", "")) or str(kind))
    if answer["timed_out"]:
        raise timed_out()
    shards = answer["_shards"]
    if shards["failed"] or shards["successful"] < shards["total"]:
        failures = [each for each in shards.get("failures") or () if isinstance(each, dict)]
        kinds = [str((each.get("reason") or {}).get("type", "")) for each in failures]
        raise _refused(500, next(filter(None, kinds), ""))
    return answer


def _refused(status: int, kind: str) -> BackendFailure:
    if status == 429 or "rejected_execution" in kind or "circuit_breaking" in kind:
        message = "The catalogue is too busy to answer."
        return Throttled(message, dependency=_DEPENDENCY, retry_after_ms=THROTTLE_RETRY_MS)
    if status in (408, 504) or kind in _CANCELLED:
        return timed_out()
    if status in (401, 403):
        return DependencyFailure("This server is not allowed to read the catalogue.", dependency=_DEPENDENCY)
    if status == 404 or kind == "index_not_found_exception":
        return IndexMissing()
    if status == 400 and kind:  # OpenSearch's own word; a proxy's has no type, and is about the way there
        return QuestionRefused("The catalogue failed to answer.", dependency=_DEPENDENCY)
    return DependencyFailure("The catalogue failed to answer.", dependency=_DEPENDENCY)
