"""What a client of the 2026 era carries from one round of questions to the next, sealed so that only this server can have
written it, and for this request alone."""

from __future__ import annotations

import json

from mcp.server.request_state import AESGCMRequestStateCodec, RequestStateBoundary, RequestStateSecurity

from server.runtime.fleet_key import FleetKey
from server.transport.request import Context, metadata_and_bearer, origin_of
from server.transport.store_server import NAME

TTL_SECONDS = 600.0
PURPOSE = b"request-state/1"


def request_state_boundary(key: FleetKey) -> RequestStateBoundary:
    """Returns the SDK's guard (AES-256-GCM over the request's name and arguments, who asks, and an end of its time) with a
    key of the fleet: any process of it opens what another has sealed."""
    security = RequestStateSecurity(codec=_FleetCodec(key), ttl=TTL_SECONDS, bind_principal=_whose)
    return RequestStateBoundary(security, default_audience=NAME)


class _FleetCodec:
    """The SDK's own, with the keys that the fleet has at the moment."""

    def __init__(self, key: FleetKey) -> None:
        self._key = key

    def seal(self, payload: bytes) -> str:
        return AESGCMRequestStateCodec(self._key.derived(PURPOSE)).seal(payload)

    def unseal(self, token: str) -> bytes:
        return AESGCMRequestStateCodec(self._key.derived(PURPOSE)).unseal(token)


def _whose(ctx: Context) -> str | None:
    """Names who asks, as far as the request says; the pipeline proves it."""
    said, _ = metadata_and_bearer(ctx)
    known = [origin_of(ctx.request), said.user, said.session]
    return json.dumps(known) if any(known) else None
