"""A session by an agent's own request: read back, and ended."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from server.identity import Identifier
from server.identity.bearer import bearer_of
from server.identity.caller_limits import Caller, CallerLimits
from server.identity.request_metadata import checked_session, read_metadata
from session.failures import MemoryUnavailable
from session.history import MOST_CALLS, HistoryEntry, Recollection
from session.memory import SessionMemory
from session.resilience.clocks import Now
from tools.results.history import About, select_relevant, summarise
from tools.store.failures import BackendFailure, Failure, Forbidden, InvalidArguments, RateLimited, Violation

Json = dict[str, Any]
WHOLE = re.compile(r"[0-9]{1,2}")
LONGEST_QUERY = 500
MOST_BEARING = 5
"""Calls that are told of what is asked now, where nobody says how many."""
GOES_BY_ITSELF = "The session's memory cannot be reached. Try again; it expires by itself after 30 minutes."
NOT_READ = "The session's memory cannot be reached. Try again in a moment."


class Sessions:
    """`/sessions/{id}`, for whoever may call tools in that session: each user has a part of their own, and sees and ends
    no other.

    GET reads it back; `?query=` selects the calls that bear on it, `?calls=` says how many (1 to 20). A session that nobody
    has used is empty. DELETE removes all that is remembered under it for that user. The long-term profile is the user's and
    not the session's: it stays, and each event in it goes by itself half a year after it happened
    (`session.profile.KEPT_DAYS`, the TTL of the table)."""

    def __init__(self, identifier: Identifier, limits: CallerLimits, memory: SessionMemory, now: Now) -> None:
        self._identifier = identifier
        self._limits = limits
        self._memory = memory
        self._now = now

    async def serve(self, request: Request) -> Response:
        return await (self.delete(request) if request.method == "DELETE" else self.read(request))

    async def read(self, request: Request) -> Response:
        try:
            session, user = await self._whose(request)
            query, most = _asked(request.query_params)
            past = await self._memory.recall(session, user)
        except Failure as failure:
            return _refused(failure)
        except MemoryUnavailable:
            return _unavailable(NOT_READ)
        calls = select_relevant(past.calls, About.text(query), most) if query else past.calls[:most]
        told = _as_json(past, calls) | {"session_id": session, "summary": summarise(past, calls, self._now().timestamp())}
        return JSONResponse(told, headers={"Cache-Control": "no-store"})

    async def delete(self, request: Request) -> Response:
        try:
            session, user = await self._whose(request)
            await self._memory.forget(session, user)
        except Failure as failure:
            return _refused(failure)
        except MemoryUnavailable:
            return _unavailable(GOES_BY_ITSELF)
        return Response(status_code=204)

    async def _whose(self, request: Request) -> tuple[str, str | None]:
        """Tells the session, and the user whose part of it is meant. Raises what a call would, and `RateLimited` for whoever
        asks as often as nobody may call."""
        session = checked_session(request.path_params["session"])
        assert session is not None
        principal = await self._identifier.identify(read_metadata({}, request.headers), bearer_of(request.headers))
        address = request.client.host if request.client else None
        caller = Caller(principal.user, session, address=address, vouched=principal.proven)
        self._limits.admit(caller)
        if wait_ms := self._limits.charge(caller):
            raise RateLimited("Too many requests. Wait a moment.", retry_after_ms=wait_ms)
        return session, principal.user


def _asked(parameters: Mapping[str, str]) -> tuple[str, int]:
    """Tells what is asked now, "" for nothing, and how many calls are wanted. Raises `InvalidArguments`."""
    query = parameters.get("query", "")
    calls = parameters.get("calls", str(MOST_BEARING if query else MOST_CALLS))
    wrong = []
    if len(query) > LONGEST_QUERY:
        wrong.append(Violation("query", "maxLength", "it is too long", f"use at most {LONGEST_QUERY} characters"))
    if not WHOLE.fullmatch(calls) or not 1 <= int(calls) <= MOST_CALLS:
        wrong.append(
            Violation("calls", "format", "it is not a number in range", f"use a whole number from 1 to {MOST_CALLS}")
        )
    if wrong:
        raise InvalidArguments(wrong)
    return query, int(calls)


def _as_json(past: Recollection, calls: Sequence[HistoryEntry]) -> Json:
    last = past.last_shown
    shown = last and {
        "by": last.by,
        "query": last.query,
        "titles": [{"title_id": i, "title": title} for i, title in zip(last.title_ids, last.titles, strict=False)],
    }
    told = [call.as_dict() for call in calls]
    return {"calls": told, "totals": dict(past.totals), "last_shown": shown, "shared": dict(past.shared)}


def _refused(failure: Failure) -> Response:
    wait_s = -(-(failure.retry_after_ms or 0) // 1000)
    headers = {"Retry-After": str(wait_s)} if wait_s else None
    return JSONResponse({"error": {"name": failure.name, "message": failure.message}}, _status(failure), headers)


def _status(failure: Failure) -> int:
    if isinstance(failure, BackendFailure):
        return 503
    if isinstance(failure, RateLimited):
        return 429
    return 403 if isinstance(failure, Forbidden) else 400


def _unavailable(message: str) -> Response:
    return JSONResponse({"error": {"name": "DEPENDENCY_FAILURE", "message": message}}, 503, {"Retry-After": "1"})
