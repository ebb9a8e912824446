"""A request of MCP: where it came from, what it says of itself, and the call that it becomes."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request

from server.call import Bearer, Call, Principal, RequestMetadata
from server.identity import Identifier
from server.identity.bearer import bearer_in
from server.identity.caller_limits import Caller, CallerLimits
from server.identity.request_metadata import checked_session, read_metadata
from server.transport.http.streams import STREAM, TRANSPORT
from tools.contract import SILENT, Client
from tools.registry import Registered
from tools.store.failures import Failure

Context = ServerRequestContext[Any, Request]


def call_of(
    ctx: Context, tool: Registered, arguments: dict[str, Any], process_session: str, client: Client = SILENT
) -> Call:
    """Begins a call. `process_session` is the session where there is no HTTP request: a stdio server has one client."""
    request = ctx.request
    headers = _headers(request)
    return Call(
        call_id=uuid.uuid4().hex,
        tool=tool,
        arguments=arguments,
        metadata=read_metadata(ctx.meta or {}, headers),
        arrived=_arrived(request),
        address=_address(request),
        origin=origin_of(request),
        transport=_transport(request),
        transport_session=_transport_session(ctx, headers, process_session),
        bearer=bearer_in(request.scope) if request is not None else None,
        client=client,
    )


def metadata_and_bearer(ctx: Context) -> tuple[RequestMetadata, Bearer | None]:
    """Reads what the request says of itself, and the token that came with it."""
    bearer = bearer_in(ctx.request.scope) if ctx.request is not None else None
    return read_metadata(ctx.meta or {}, _headers(ctx.request)), bearer


def caller_of_request(ctx: Context, principal: Principal, process_session: str) -> Caller:
    """Tells who is behind a request that becomes no call."""
    headers = _headers(ctx.request)
    try:
        session = checked_session(read_metadata(ctx.meta or {}, headers).session)
    except Failure:
        session = None
    own = session or _transport_session(ctx, headers, process_session)
    return Caller(principal.user, own, origin_of(ctx.request), _address(ctx.request), principal.proven)


def _headers(request: Request | None) -> Mapping[str, str]:
    """Decodes them once: Starlette's own look through them all for each name. Of a name that comes twice the first
    counts."""
    if request is None:
        return {}
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(request.headers.raw)}


def _arrived(request: Request | None) -> float:
    """Tells when the request reached the edge, which may be a while before its handler runs."""
    now = time.monotonic()
    return min(now, request.scope.get("manga.arrived", now)) if request is not None else now


def _transport(request: Request | None) -> str:
    if request is None:
        return "stdio"
    return str(request.scope.get(TRANSPORT, "sse")) if STREAM in request.scope else "streamable_http"


def _address(request: Request | None) -> str | None:
    return request.client.host if request is not None and request.client else None


def origin_of(request: Request | None) -> str | None:
    """Returns the principal that the edge has let in; None where nobody has to prove anything."""
    user = request.scope.get("user") if request is not None else None
    return user.access_token.client_id if isinstance(user, AuthenticatedUser) else None


def _transport_session(ctx: Context, headers: Mapping[str, str], process_session: str) -> str | None:
    """Returns one that this server has issued: the SSE stream's, or that of Streamable HTTP's 2025 era, which the SDK has
    found among its own. A 2026 request has none, whatever its header says: nobody has looked at that."""
    if ctx.request is None:
        return process_session
    if stream := ctx.request.scope.get(STREAM):
        return str(stream)
    return headers.get("mcp-session-id") if ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS else None


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
