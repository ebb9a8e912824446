"""The scopes of a token that are about this server's tools: `mcp:manga-tools:<tool>`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

SERVER = "mcp:manga-tools"
CLAIMS = ("scope", "scp", "scopes")
COGNITO = "https://cognito-idp."


def granted(claims: Mapping[str, Any], audiences: Collection[str]) -> frozenset[str]:
    """Names them as this server does. Amazon Cognito writes RESOURCE-SERVER/SCOPE: taken are a resource server
    `mcp:manga-tools` with the tools as its scopes, and one that is named like an audience with whole scopes."""
    return frozenset(ours for each in _stated(claims) if (ours := _ours(each, audiences)))


def as_issued(scope: str, issuer: str) -> str:
    """Tells how to ask this issuer for it."""
    return scope.replace(f"{SERVER}:", f"{SERVER}/", 1) if issuer.startswith(COGNITO) else scope


def _ours(scope: str, audiences: Collection[str]) -> str | None:
    server, slash, name = scope.rpartition("/")
    if server == SERVER and name:
        return f"{SERVER}:{name}"
    if slash and server not in audiences:
        return None
    return name if name.startswith(f"{SERVER}:") else None


def _stated(claims: Mapping[str, Any]) -> Iterator[str]:
    for claim in CLAIMS:
        value = claims.get(claim)
        listed = value.split(" ") if isinstance(value, str) else value
        yield from (each for each in listed if isinstance(each, str)) if isinstance(listed, list) else ()
