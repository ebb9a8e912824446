"""Who asks for something that becomes no call: a list, a name that nobody knows."""

from __future__ import annotations

import uuid
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from server.call import Principal, RequestMetadata
from server.identity import Identifier
from server.identity.caller_limits import CallerLimits
from server.transport.request import Context, caller_of_request, metadata_and_bearer
from tools.store.failures import Failure

NOBODY = Principal(scopes=frozenset())


class Askers:
    """`process_session` is the session where there is no HTTP request: a stdio server has one client."""

    def __init__(self, identifier: Identifier, limits: CallerLimits) -> None:
        self.process_session = uuid.uuid4().hex
        self._identifier = identifier
        self._limits = limits

    async def principal(self, ctx: Context) -> Principal:
        """Tells who asks. Here nobody argues about the user: where that cannot be proven, it is what the bearer alone may
        use."""
        metadata, bearer = metadata_and_bearer(ctx)
        for believed in (RequestMetadata() if metadata.user_conflict else metadata, RequestMetadata()):
            try:
                return await self._identifier.identify(believed, bearer)
            except Failure:
                continue
        return NOBODY

    def session(self, ctx: Context) -> str | None:
        """Tells in which session somebody asks; None where there is none, or its name is malformed."""
        return caller_of_request(ctx, NOBODY, self.process_session).session

    def admit(self, ctx: Context, principal: Principal, size: int) -> None:
        """Raises for who has been answered with more than their share of bytes."""
        if wait_ms := self._limits.weigh(caller_of_request(ctx, principal, self.process_session), size):
            details = {"name": "RATE_LIMITED", "retry_after_ms": wait_ms}
            raise MCPError(types.INVALID_PARAMS, "Too many lists. Wait a moment.", details)

    def refusal(self, ctx: Context, principal: Principal, message: str, data: dict[str, Any]) -> MCPError:
        """Returns what to say to somebody who asks for what there is not; who does so too often hears only that."""
        if wait_ms := self._limits.charge(caller_of_request(ctx, principal, self.process_session)):
            details = {"name": "RATE_LIMITED", "retry_after_ms": wait_ms}
            return MCPError(types.INVALID_PARAMS, "Too many calls were refused. Wait a moment.", details)
        return MCPError(types.INVALID_PARAMS, message, data)


def one_page(params: types.PaginatedRequestParams, what: str) -> None:
    """Raises for a cursor: there is no second page."""
    if params.cursor:
        raise MCPError(types.INVALID_PARAMS, f"There is no such cursor: the {what} are one page.")
