"""Where a client learns whose tokens are taken here (RFC 9728; MCP, basic/authorization), and how a refusal points there."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

from server.identity.tool_access import as_issued
from server.transport.http.streams import MESSAGES

WELL_KNOWN = "/.well-known/oauth-protected-resource"
RESOURCES = ("", "/mcp", "/sse")
"""Each is a resource of its own to whoever is configured with its address; the first stands for the server as a whole."""
CACHE_SECONDS = 3600

Scopes = Callable[[], Iterable[str]]
"""Those of the tools, resources and prompts that there are when it is called."""


class Challenge:
    """What WWW-Authenticate says (RFC 6750, section 3)."""

    def of(self, scope: Scope, error: str | None) -> str:
        """Challenges a token that proves nobody; `error` is None for a request that brought none at all."""
        return _joined(_told("invalid_token", error))

    def of_scope(self, scope: Scope, wanted: str) -> str:
        """Challenges a token that proves somebody who lacks the scope `wanted`."""
        return _joined(_told("insufficient_scope", f"This needs the scope {wanted}.") | {"scope": wanted})


class MetadataChallenge(Challenge):
    """And where the tokens come from, with the scopes to ask for, as the issuer names them."""

    def __init__(self, issuer: str, scopes: Scopes) -> None:
        self._issuer = issuer
        self._scopes = scopes

    def of(self, scope: Scope, error: str | None) -> str:
        return _joined(_told("invalid_token", error) | self._where(scope) | {"scope": self._all_scopes()})

    def of_scope(self, scope: Scope, wanted: str) -> str:
        told = _told("insufficient_scope", f"This needs the scope {wanted}.")
        return _joined(told | self._where(scope) | {"scope": as_issued(wanted, self._issuer)})

    def _all_scopes(self) -> str:
        return " ".join(as_issued(each, self._issuer) for each in self._scopes())

    def _where(self, scope: Scope) -> dict[str, str]:
        path = "/sse" if scope["path"].startswith(MESSAGES) else scope["path"]
        resource = path if path in RESOURCES else ""
        return {"resource_metadata": f"{origin(scope)}{WELL_KNOWN}{resource}"}


class ResourceMetadata:
    """The document, for each of the resources."""

    def __init__(self, issuer: str, scopes: Scopes, shop: str) -> None:
        self._issuer = issuer
        self._scopes = scopes
        self._shop = shop

    async def document(self, request: Request) -> Response:
        document = {
            "resource": origin(request.scope) + request.url.path.removeprefix(WELL_KNOWN),
            "authorization_servers": [self._issuer],
            "scopes_supported": [as_issued(each, self._issuer) for each in self._scopes()],
            "bearer_methods_supported": ["header"],
            "resource_name": f"{self._shop} tools",
        }
        # What it says depends on the name the client called.
        headers = {"Cache-Control": f"private, max-age={CACHE_SECONDS}"}
        return JSONResponse(document, headers=headers)


def origin(scope: Scope) -> str:
    """Returns it as the client sees it: the Host has passed the allowlist, and of the scheme a proxy is believed that is
    trusted."""
    return f"{scope['scheme']}://{Headers(scope=scope)['host']}"


def _told(code: str, error: str | None) -> dict[str, str]:
    return {} if error is None else {"error": code, "error_description": error.replace('"', "'")}


def _joined(parameters: dict[str, str]) -> str:
    return " ".join(["Bearer", ", ".join(f'{name}="{value}"' for name, value in parameters.items())]).rstrip()
