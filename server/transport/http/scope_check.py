"""A bearer that lacks the scope of what it asks for is told so by HTTP, with where to get one that has it (MCP,
basic/authorization, scope challenge; RFC 6750, section 3.1). A token in `_meta` is no business of HTTP's: its refusal is the
call's answer. So it is on an SSE stream, whose clients take no answer from a POST: refused once, they post nothing any more
(mcp 1.x and 2.x)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response
from starlette.types import Scope

from server.call import RequestMetadata
from server.identity import Identifier
from server.identity.bearer import bearer_in
from server.identity.request_metadata import read_metadata
from server.transport.http.bodies import Posted
from server.transport.http.metadata import Challenge
from server.transport.http.responses import plain
from tools.primitive_registry import PrimitiveRegistry
from tools.registry import Registered, Registry
from tools.store.failures import Failure

Params = Mapping[str, Any]


class ScopeCheck:
    """Asks the bearer alone: who calls on whose behalf is told by the pipeline."""

    def __init__(
        self, identifier: Identifier, registry: Registry, primitives: PrimitiveRegistry, challenge: Challenge
    ) -> None:
        self._identifier = identifier
        self._registry = registry
        self._primitives = primitives
        self._challenge = challenge
        self._asked: Mapping[str, Callable[[Params], Registered | None]] = {
            "tools/call": lambda params: self._registry.get(_text(params, "name")),
            "resources/read": self._resource,
            "resources/subscribe": self._resource,
            "prompts/get": lambda params: self._prompt(_text(params, "name")),
            "completion/complete": self._completion,
        }

    async def refusal(self, scope: Scope, posted: Posted) -> Response | None:
        """Returns 403, or None for what this bearer may ask for, or what is refused for something else."""
        find, meta = self._asked.get(posted.method), posted.params.get("_meta")
        asked = find(posted.params) if find else None
        if asked is None or not asked.tool.scope:
            return None
        if isinstance(meta, dict) and read_metadata(meta, {}).user_token is not None:
            return None
        return await self._without(asked.tool.scope, scope)

    async def _without(self, wanted: str, scope: Scope) -> Response | None:
        try:
            principal = await self._identifier.identify(RequestMetadata(), bearer_in(scope))
        except Failure:
            return None
        if principal.scopes is None or wanted in principal.scopes:
            return None
        return plain(403, f"This needs the scope {wanted}.", {"WWW-Authenticate": self._challenge.of_scope(scope, wanted)})

    def _resource(self, params: Params) -> Registered | None:
        found = self._primitives.at(_text(params, "uri"))
        return found[0].run if found else None

    def _prompt(self, name: str) -> Registered | None:
        served = self._primitives.prompt(name)
        return served.run if served else None

    def _completion(self, params: Params) -> Registered | None:
        ref = params.get("ref")
        if not isinstance(ref, dict):
            return None
        template = self._primitives.template(_text(ref, "uri"))
        return template.run if template else self._prompt(_text(ref, "name"))


def _text(params: Params, name: str) -> str:
    value = params.get(name)
    return value if isinstance(value, str) else ""
