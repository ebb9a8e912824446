"""What a client of the 2026 era carries from one round of questions to the next, sealed so that only this server can have
written it, and for this request alone."""

from __future__ import annotations

import json

from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

from server.transport.request import Context, metadata_and_bearer, origin_of
from server.transport.store_server import NAME

TTL_SECONDS = 600.0


def request_state_boundary() -> RequestStateBoundary:
    """Returns the SDK's guard (AES-256-GCM over the request's name and arguments, who asks, and an end of its time) with a
    key of this process: what another one has sealed is refused, and the client begins anew."""
    security = RequestStateSecurity.ephemeral(ttl=TTL_SECONDS)
    security.bind_principal = _whose
    return RequestStateBoundary(security, default_audience=NAME)


def _whose(ctx: Context) -> str | None:
    """Names who asks, as far as the request says; the pipeline proves it."""
    said, _ = metadata_and_bearer(ctx)
    known = [origin_of(ctx.request), said.user, said.session]
    return json.dumps(known) if any(known) else None
