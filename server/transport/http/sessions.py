"""An agent reads back or ends a session: GET and DELETE of `/sessions/{id}`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from server.identity import Identifier
from server.identity.caller_limits import Caller, CallerLimits
from server.identity.request_metadata import bearer_of, checked_session, read_metadata
from session.failures import MemoryUnavailable
from session.history import MOST_CALLS, HistoryEntry, Recollection
from session.memory import SessionMemory
from session.resilience.clocks import Now
from tools.results.history import About, select_relevant, summarise
from tools.store.failures import BackendFailure, Failure, Forbidden, InvalidArguments, RateLimited, Violation

Json = dict[str, Any]
LONGEST_QUERY = 500
MOST_BEARING = 5
"""Calls that bear on a query, by default."""
GOES_BY_ITSELF = "The session's memory cannot be reached. Try again; it expires by itself after 30 minutes."
NOT_READ = "The session's memory cannot be reached. Try again in a moment."


class Sessions:
    """For callers that may call tools in the session. Each user reads and ends a part of their own; an unused one is empty.

    GET reads it back: `?query=` selects the calls that bear on it, `?calls=` limits them (1 to 20). DELETE removes what is
    remembered under the session for that user. The long-term profile is the user's and stays; its events expire half a year
    after they happened (`session.profile.KEPT_DAYS`, the TTL of the table)."""

    def __init__(self, identifier: Identifier, limits: CallerLimits, memory: SessionMemory, now: Now) -> None:
        self._identifier = identifier
        self._limits = limits
        self._memory = memory
        self._now = now

    async def serve(self, request: Request) -> Response:
        is_delete = request.method == "DELETE"
        try:
            session, user = await self._identify(request)
            if is_delete:
                await self._memory.forget(session, user)
                return Response(status_code=204)
            query, most = _read_parameters(request.query_params)
            past = await self._memory.recall(session, user)
        except Failure as failure:
            wait_s = -(-(failure.retry_after_ms or 0) // 1000)
            headers = {"Retry-After": str(wait_s)} if wait_s else None
            error = {"name": failure.name, "message": failure.message}
            return JSONResponse({"error": error}, _status(failure), headers)
        except MemoryUnavailable:
            error = {"name": "DEPENDENCY_FAILURE", "message": GOES_BY_ITSELF if is_delete else NOT_READ}
            return JSONResponse({"error": error}, 503, {"Retry-After": "1"})
        calls = select_relevant(past.calls, About.text(query), most) if query else past.calls[:most]
        body = _dump(past, calls) | {"session_id": session, "summary": summarise(past, calls, self._now().timestamp())}
        return JSONResponse(body, headers={"Cache-Control": "no-store"})

    async def _identify(self, request: Request) -> tuple[str, str | None]:
        """Returns the session and the user of the request. Raises the errors of a call, and `RateLimited` beyond the
        caller's limit."""
        session = checked_session(request.path_params["session"])
        assert session is not None
        principal = await self._identifier.identify(read_metadata({}, request.headers), bearer_of(request.headers))
        address = request.client.host if request.client else None
        caller = Caller(principal.user, session, address=address, vouched=principal.is_proven)
        self._limits.admit(caller)
        if wait_ms := self._limits.charge(caller):
            raise RateLimited("Too many requests. Wait a moment.", retry_after_ms=wait_ms)
        return session, principal.user


def _read_parameters(parameters: Mapping[str, str]) -> tuple[str, int]:
    """Returns the query, "" for none, and the number of calls. Raises `InvalidArguments`."""
    query = parameters.get("query", "")
    calls = parameters.get("calls", str(MOST_BEARING if query else MOST_CALLS))
    violations = []
    if len(query) > LONGEST_QUERY:
        violations.append(Violation("query", "maxLength", "it is too long", f"use at most {LONGEST_QUERY} characters"))
    if not re.fullmatch("[0-9]{1,2}", calls) or not 1 <= int(calls) <= MOST_CALLS:
        mend = f"use a whole number from 1 to {MOST_CALLS}"
        violations.append(Violation("calls", "format", "it is not a number in range", mend))
    if violations:
        raise InvalidArguments(violations)
    return query, int(calls)


def _dump(past: Recollection, calls: Sequence[HistoryEntry]) -> Json:
    last = past.last_shown
    shown = last and {
        "by": last.by,
        "query": last.query,
        "titles": [{"title_id": i, "title": title} for i, title in zip(last.title_ids, last.titles, strict=False)],
    }
    entries = [call.as_dict() for call in calls]
    return {"calls": entries, "totals": dict(past.totals), "last_shown": shown, "shared": dict(past.shared)}


def _status(failure: Failure) -> int:
    if isinstance(failure, BackendFailure):
        return 503
    if isinstance(failure, RateLimited):
        return 429
    return 403 if isinstance(failure, Forbidden) else 400
