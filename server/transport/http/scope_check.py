"""A bearer that lacks a tool's scope is told so by HTTP, with where to get one that has it (MCP, basic/authorization, scope
challenge; RFC 6750, section 3.1). A token in `_meta` is no business of HTTP's: its refusal is the call's result. So it is on
an SSE stream, whose clients take no answer from a POST: refused once, they post nothing any more (mcp 1.x and 2.x)."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from server.call import RequestMetadata
from server.identity import Identifier
from server.identity.bearer import bearer_of
from server.identity.request_metadata import read_metadata
from server.transport.http.bounds.posted import Posted
from server.transport.http.metadata import Challenge
from server.transport.http.responses import plain
from tools.registry import Registry
from tools.store.failures import Failure


class ScopeCheck:
    """Asks the bearer alone: who calls on whose behalf is told by the pipeline."""

    def __init__(self, identifier: Identifier, registry: Registry, challenge: Challenge) -> None:
        self._identifier = identifier
        self._registry = registry
        self._challenge = challenge

    async def refusal(self, scope: Scope, posted: Posted) -> Response | None:
        """Returns 403, or None for a call that this bearer may make, or that is refused for something else."""
        name, meta = posted.params.get("name"), posted.params.get("_meta")
        tool = self._registry.get(name) if isinstance(name, str) else None
        if tool is None or (isinstance(meta, dict) and read_metadata(meta, {}).user_token is not None):
            return None
        try:
            principal = await self._identifier.identify(RequestMetadata(), bearer_of(Headers(scope=scope)))
        except Failure:
            return None
        wanted = tool.tool.scope
        if principal.scopes is None or wanted in principal.scopes:
            return None
        return plain(403, f"This needs the scope {wanted}.", {"WWW-Authenticate": self._challenge.of_scope(scope, wanted)})
