"""The tools as clients are told of them."""

from __future__ import annotations

from typing import Any

from server.call import Principal
from server.identity.tool_access import ToolAccess
from tools.contract import Tool
from tools.registry import Registry

TTL_MS = 1000


class ToolListing:
    """What `tools/list` answers."""

    def __init__(self, registry: Registry, access: ToolAccess) -> None:
        self._access = access
        self._listed = {tool.name: listed_tool(tool) for tool in registry}

    def result(self, principal: Principal) -> dict[str, Any]:
        """Lists what this principal may use, in the registry's order, as one page. `cacheScope` is private when what is
        listed depends on the user."""
        private = self._access.depends_on_user() or principal.scopes is not None
        return {
            "resultType": "complete",
            "tools": [self._listed[tool.name] for tool in self._access.listed(principal)],
            "ttlMs": TTL_MS,
            "cacheScope": "private" if private else "public",
        }


def listed_tool(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
    }
