"""Decides which tools a caller may use, by scopes and by flags."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from server.call import Principal
from server.flags.document import OFF, ON_BY_ITSELF, Decision, Flags
from tools.contract import Tool
from tools.registry import Registry
from tools.store.failures import Forbidden, ToolNotFound

SERVER = "mcp:manga-tools"
WITHDRAWN = Decision(False, OFF, "it was withdrawn")
LEFT_OUT = Decision(False, OFF, "MANGA_TOOLS=core leaves it out")


def granted_scopes(claims: Mapping[str, Any], audiences: Collection[str]) -> frozenset[str]:
    """Returns this server's scopes in a token's claims, each as `mcp:manga-tools:NAME`. Amazon Cognito's forms,
    `mcp:manga-tools/NAME` and `AUDIENCE/mcp:manga-tools:NAME`, are accepted too."""
    return frozenset(ours for each in _scopes_in(claims) if (ours := _normalise_scope(each, audiences)))


def as_issued(scope: str, issuer: str) -> str:
    """Returns the scope in this issuer's spelling (Cognito's has a slash), for requesting a token."""
    return scope.replace(f"{SERVER}:", f"{SERVER}/") if issuer.startswith("https://cognito-idp.") else scope


def _normalise_scope(scope: str, audiences: Collection[str]) -> str | None:
    server, slash, name = scope.rpartition("/")
    if server == SERVER and name:
        return f"{SERVER}:{name}"
    if slash and server not in audiences:
        return None
    return name if name.startswith(f"{SERVER}:") else None


def _scopes_in(claims: Mapping[str, Any]) -> Iterator[str]:
    for claim in ("scope", "scp", "scopes"):
        value = claims.get(claim)
        listed = value.split(" ") if isinstance(value, str) else value
        yield from (each for each in listed if isinstance(each, str)) if isinstance(listed, list) else ()


class ToolAccess:
    def __init__(self, registry: Registry, flags: Flags, toolset: Collection[str] | None = None) -> None:
        """`toolset` has the names of the only tools that are available; None stands for all tools."""
        self._registry = registry
        self._flags = flags
        self._toolset = toolset

    def list_tools(self, principal: Principal) -> list[Tool]:
        """Returns the caller's tools in the registry's order; without a user, none that are on for a percentage of users."""
        return [t for t in self._registry if self.decision(t, principal).on and allows_tool(t, principal)]

    def decision(self, tool: Tool, principal: Principal, session: str | None = None) -> Decision:
        """Decides whether the tool is registered, in the toolset and on for the caller. A primitive is always on.
        A percentage rollout is decided by the user's id, else by the session's."""
        if tool.is_primitive:
            return ON_BY_ITSELF
        if tool.name not in self._registry:
            return WITHDRAWN
        if self._toolset is not None and tool.name not in self._toolset:
            return LEFT_OUT
        return self._flags.decide(tool, principal, session)

    def may_use(self, principal: Principal, session: str | None, name: str) -> bool:
        found = self._registry.get(name)
        return found is not None and self.decision(found.tool, principal, session).on and allows_tool(found.tool, principal)

    def check(self, tool: Tool, principal: Principal, decision: Decision) -> None:
        """Raises `ToolNotFound` if the decision is off, or `Forbidden` if the caller lacks the tool's scope."""
        if not decision.on:
            state = "was withdrawn" if decision is WITHDRAWN else "is switched off"
            raise ToolNotFound(f"{tool.name} {state}. {tool.instead}", details={"instead": tool.instead})
        if not allows_tool(tool, principal):
            raise Forbidden(f"This needs the scope {tool.scope}.", details={"scope": tool.scope})

    def depends_on_user(self) -> bool:
        return any(self._flags.depends_on_user(tool) for tool in self._registry)


def allows_tool(tool: Tool, principal: Principal) -> bool:
    """True if the caller's scopes allow the tool. Tools without a scope are public; a caller without a JWT may use all."""
    return principal.scopes is None or not tool.scope or tool.scope in principal.scopes
