"""The SDK's server, with this server's name, and without what would send a client the text of an exception."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.lowlevel.server import HandlerEntry, NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.request_state import AESGCMRequestStateCodec, RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError

from server.runtime.fleet_key import FleetKey
from server.transport.request import Context, metadata_and_bearer, origin_of

logger = logging.getLogger(__name__)
NAME = "manga-tools"
Answer = TypeVar("Answer")
CAPABILITIES = {
    "prompts": "prompts/list",
    "resources": "resources/list",
    "completions": "completion/complete",
    "logging": "logging/setLevel",
}
"""With the method that a server has that announces it."""


class StoreServer(Server[Any]):
    """The SDK derives 2025 capabilities without asking for list changes; this server does announce them. What it has
    nothing to offer of, by `offers`, is as if there were no handler: neither announced nor answered."""

    offers: Callable[[str], bool]

    def get_request_handler(self, method: str) -> HandlerEntry[Any] | None:
        return super().get_request_handler(method) if self.offers(method) else None

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        handled = super().get_capabilities(
            notification_options, experimental_capabilities, extensions, protocol_version=protocol_version
        )
        missing = [name for name, method in CAPABILITIES.items() if not self.offers(method)]
        return handled.model_copy(update=dict.fromkeys(missing))

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(True, True, True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


def quietly(handler: Callable[[Context, Any], Awaitable[Answer]]) -> Callable[[Context, Any], Awaitable[Answer]]:
    """Spreads a net below the pipeline's guard, for what happens before and after it: the SDK would send older clients
    the text of an exception, which may hold anything."""

    async def handle(ctx: Context, params: Any) -> Answer:
        try:
            return await handler(ctx, params)
        except MCPError:
            raise
        except Exception:
            logger.exception("%s failed outside the pipeline", ctx.method)
            raise MCPError(types.INTERNAL_ERROR, "Internal server error") from None

    return handle


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
