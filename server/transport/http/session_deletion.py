"""The end of a session, by an agent's own request."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from server.identity import Identifier
from server.identity.bearer import bearer_of
from server.identity.request_metadata import checked_session, read_metadata
from session.failures import MemoryUnavailable
from session.memory import SessionMemory
from tools.store.failures import BackendFailure, Failure, Forbidden


class SessionDeletion:
    """DELETE /sessions/{id}: the agent ends a session, and all that is remembered under it for that user goes.

    The long-term profile is the user's and not the session's: it stays, and each event in it goes by itself half a year
    after it happened (`session.profile.KEPT_DAYS`, the TTL of the table)."""

    def __init__(self, identifier: Identifier, memory: SessionMemory) -> None:
        self._identifier = identifier
        self._memory = memory

    async def delete(self, request: Request) -> Response:
        metadata = read_metadata({}, request.headers)
        try:
            session = checked_session(request.path_params["session"])
            principal = await self._identifier.identify(metadata, bearer_of(request.headers))
        except Failure as failure:
            return JSONResponse({"error": {"name": failure.name, "message": failure.message}}, _status(failure))
        assert session is not None
        try:
            await self._memory.forget(session, principal.user)
        except MemoryUnavailable:
            message = "The session's memory cannot be reached. Try again; it expires by itself after 30 minutes."
            return JSONResponse({"error": {"name": "DEPENDENCY_FAILURE", "message": message}}, 503, {"Retry-After": "1"})
        return Response(status_code=204)


def _status(failure: Failure) -> int:
    if isinstance(failure, BackendFailure):
        return 503
    return 403 if isinstance(failure, Forbidden) else 400
