"""Which tools exist for whom, now."""

from __future__ import annotations

from server.call import Principal
from server.config.flags import Flags
from tools.contract import Tool
from tools.registry import Registry
from tools.store.failures import Forbidden, ToolNotFound


class ToolAccess:
    """The one answer to "may they use it", for lists and for calls."""

    def __init__(self, registry: Registry, flags: Flags) -> None:
        self._registry = registry
        self.flags = flags

    def listed(self, principal: Principal) -> list[Tool]:
        """Lists the tools in the registry's order, which never changes. Without a proven user it is what is on for
        everyone."""
        return [t for t in self._registry if self.flags.is_on(t.flag, principal.user) and _granted(t, principal)]

    def check(self, tool: Tool, principal: Principal) -> None:
        """Raises `ToolNotFound` for a tool that is switched off and `Forbidden` for one that is not granted."""
        if not self.flags.is_on(tool.flag, principal.user):
            raise ToolNotFound(f"{tool.name} is switched off. {tool.instead}", details={"instead": tool.instead})
        if not _granted(tool, principal):
            raise Forbidden(f"This needs the scope {tool.scope}.", details={"scope": tool.scope})

    def depends_on_user(self) -> bool:
        return self.flags.depends_on_user()


def _granted(tool: Tool, principal: Principal) -> bool:
    return principal.scopes is None or tool.scope in principal.scopes
