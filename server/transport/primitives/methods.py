"""The methods about resources, prompts, completions and log messages, there only while there is something to offer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import mcp_types as types

from server.identity.tool_access import ToolAccess
from server.transport.askers import Askers
from server.transport.calls import Calls
from server.transport.changes.own_updates import OwnUpdates
from server.transport.clients.log_levels import LogLevels
from server.transport.extensions import Extensions
from server.transport.primitives.completions import Completions
from server.transport.primitives.prompts import Prompts
from server.transport.primitives.resources import Resources
from server.transport.primitives.watchers import Watchers
from server.transport.store_server import StoreServer, quietly
from tools.primitive_registry import PrimitiveRegistry
from tools.registry import Registry


class PrimitiveMethods:
    """Handlers, and by the first word of a method whether there is anything behind it."""

    def __init__(
        self,
        tools: Registry,
        primitives: PrimitiveRegistry,
        access: ToolAccess,
        extensions: Extensions,
        askers: Askers,
        calls: Calls,
        watchers: Watchers,
        updates: OwnUpdates,
        levels: LogLevels,
    ) -> None:
        self._resources = Resources(primitives, access, extensions, askers, calls, watchers, updates)
        self._prompts = Prompts(primitives, askers, calls)
        self._completions = Completions(primitives, askers, calls)
        self._levels = levels
        self._offered: Mapping[str, Callable[[], bool]] = {
            "resources": lambda: bool(primitives.resources or primitives.templates),
            "prompts": lambda: bool(primitives.prompts),
            "completion": lambda: primitives.completes,
            "logging": lambda: any(tool.logs for tool in tools),
        }

    def offers(self, method: str) -> bool:
        offered = self._offered.get(method.partition("/")[0])
        return offered is None or offered()

    def add_to(self, server: StoreServer) -> None:
        resources, prompts, page = self._resources, self._prompts, types.PaginatedRequestParams
        server.offers = self.offers
        server.add_request_handler("resources/list", page, quietly(resources.list))
        server.add_request_handler("resources/templates/list", page, quietly(resources.templates))
        server.add_request_handler("resources/read", types.ReadResourceRequestParams, quietly(resources.read))
        server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, quietly(resources.subscribe))
        server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, quietly(resources.unsubscribe))
        server.add_request_handler("prompts/list", page, quietly(prompts.list))
        server.add_request_handler("prompts/get", types.GetPromptRequestParams, quietly(prompts.get))
        server.add_request_handler("completion/complete", types.CompleteRequestParams, quietly(self._completions.complete))
        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, quietly(self._levels.set))
