"""The bearer token of a request (RFC 6750, section 2.1)."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.types import Scope

from server.call import Bearer

VOUCHED = "manga.vouched"
"""The scope's key of the identity that a relaying process has verified."""


def bearer_of(headers: Mapping[str, str]) -> str | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def bearer_in(scope: Scope) -> Bearer | None:
    """Returns the bearer token, or the identity that a relaying process has verified."""
    return scope.get(VOUCHED) or bearer_of(Headers(scope=scope))
