"""Who holds what is shared out at the edge: streams, sessions, subscriptions, room for bodies."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, AuthorizationContext, authorization_context
from starlette.types import Scope

LOCAL = "local"


def holder_of(scope: Scope) -> str:
    """Names the proven principal. Where nobody has to prove anything it is the address a request comes from, and all of
    loopback is one: there the caller is the agent of the same task, which may use all there is."""
    user = scope.get("user")
    if isinstance(user, AuthenticatedUser):
        return f"principal {user.access_token.client_id}"
    client = scope.get("client")
    return LOCAL if client is None or _loopback(client[0]) else f"address {client[0]}"


def owner_of(scope: Scope) -> AuthorizationContext | None:
    """Returns the proven principal as the SDK compares them, None where nobody has to prove anything."""
    user = scope.get("user")
    return authorization_context(user) if isinstance(user, AuthenticatedUser) else None


@lru_cache(maxsize=1024)
def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return True  # a socket that is no address, such as a Unix one
