"""OAuth over HTTP: resource metadata (RFC 9728), WWW-Authenticate challenges, and scope checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from server.call import RequestMetadata
from server.identity.request_metadata import Identifier, bearer_in, read_metadata
from server.identity.tool_access import as_issued
from server.transport.http.responses import plain
from server.transport.http.streams import MESSAGES
from server.transport.messages import Json, Posted
from tools.primitive_registry import PrimitiveRegistry
from tools.registry import Registered, Registry
from tools.store.failures import Failure

WELL_KNOWN = "/.well-known/oauth-protected-resource"
RESOURCES = ("", "/mcp", "/sse")
"""Paths that are OAuth resources, each for clients configured with its address; the first is the whole server."""


@dataclass(eq=False)
class Challenge:
    """Builds WWW-Authenticate headers (RFC 6750, section 3). With an `issuer` they have the metadata's address and the
    scopes to request; without an issuer, only a missing scope. `scopes` returns those of tools, resources and prompts."""

    issuer: str | None = None
    scopes: Callable[[], Iterable[str]] = tuple
    shop: str = ""

    def for_token(self, scope: Scope, error: str | None) -> str:
        """Returns the challenge for an invalid token, or for a missing token if `error` is None."""
        fields = {} if error is None else _error("invalid_token", error)
        if self.issuer:
            fields |= self._metadata(scope) | {"scope": " ".join(as_issued(each, self.issuer) for each in self.scopes())}
        return _join(fields)

    def for_scope(self, scope: Scope, wanted: str) -> str:
        fields = _error("insufficient_scope", f"This needs the scope {wanted}.")
        if self.issuer:
            fields |= self._metadata(scope)
        return _join(fields | {"scope": as_issued(wanted, self.issuer) if self.issuer else wanted})

    async def document(self, request: Request) -> Response:
        """Serves the OAuth metadata of the resource that the path names."""
        assert self.issuer is not None
        document = {
            "resource": _origin(request.scope) + request.url.path.removeprefix(WELL_KNOWN),
            "authorization_servers": [self.issuer],
            "scopes_supported": [as_issued(each, self.issuer) for each in self.scopes()],
            "bearer_methods_supported": ["header"],
            "resource_name": f"{self.shop} tools",
        }
        # Private, since it depends on the host name that the client used.
        return JSONResponse(document, headers={"Cache-Control": "private, max-age=3600"})

    def _metadata(self, scope: Scope) -> dict[str, str]:
        path = "/sse" if scope["path"].startswith(MESSAGES) else scope["path"]
        return {"resource_metadata": f"{_origin(scope)}{WELL_KNOWN}{path if path in RESOURCES else ''}"}


def _origin(scope: Scope) -> str:
    return f"{scope['scheme']}://{Headers(scope=scope)['host']}"


def _error(code: str, description: str) -> dict[str, str]:
    return {"error": code, "error_description": description.replace('"', "'")}


def _join(fields: dict[str, str]) -> str:
    return " ".join(["Bearer", ", ".join(f'{name}="{value}"' for name, value in fields.items())]).rstrip()


@dataclass(eq=False)
class ScopeCheck:
    """Refuses bearer tokens that lack the scope of the requested tool, resource or prompt (RFC 6750, section 3.1).

    Tokens in `_meta`, and tokens of SSE clients, are refused in the call's answer: SSE clients stop posting once refused."""

    identifier: Identifier
    registry: Registry
    primitives: PrimitiveRegistry
    challenge: Challenge

    async def refusal(self, scope: Scope, posted: Posted) -> Response | None:
        """Returns the 403 response; None if no scope is required, the token has it, or the pipeline is to check it."""
        requested, meta = self._find(posted.method, posted.params), posted.params.get("_meta")
        if requested is None or not (wanted := requested.tool.scope):
            return None
        if isinstance(meta, dict) and read_metadata(meta, {}).user_token is not None:
            return None
        try:
            principal = await self.identifier.identify(RequestMetadata(), bearer_in(scope))
        except Failure:
            return None
        if principal.scopes is None or wanted in principal.scopes:
            return None
        return plain(403, f"This needs the scope {wanted}.", {"WWW-Authenticate": self.challenge.for_scope(scope, wanted)})

    def _find(self, method: str, params: Json) -> Registered | None:
        ref = params.get("ref")
        match method:
            case "tools/call":
                return self.registry.get(_text(params, "name"))
            case "resources/read" | "resources/subscribe":
                found = self.primitives.find_resource(_text(params, "uri"))
                return found[0].run if found else None
            case "prompts/get":
                return self._prompt(params)
            case "completion/complete" if isinstance(ref, dict):
                template = self.primitives.templates.current(_text(ref, "uri"))
                return template.run if template else self._prompt(ref)
        return None

    def _prompt(self, params: Json) -> Registered | None:
        served = self.primitives.prompts.current(_text(params, "name"))
        return served.run if served else None


def _text(params: Mapping[str, object], name: str) -> str:
    value = params.get(name)
    return value if isinstance(value, str) else ""
