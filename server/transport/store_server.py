"""The SDK's server, with this server's name, and without what would send a client the text of an exception."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.lowlevel.server import HandlerEntry, NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.shared.exceptions import MCPError

from server.transport.request import Context

logger = logging.getLogger(__name__)

NAME = "manga-tools"
TITLE = "MangaAssist tools"

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
