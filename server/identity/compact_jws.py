"""A signed token in its compact form (RFC 7515, section 7.1), taken apart strictly and not yet believed."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import Any

from server.identity.identifier import Unproven

LONGEST_TOKEN = 8 * 1024
LONGEST_KID = 256
ALGORITHMS = ("RS256", "ES256")
TYPES = (None, "jwt", "at+jwt", "application/at+jwt")
"""A token that says it is something else (a logout token, a DPoP proof) is not one to call tools with (RFC 8725, 3.11)."""
COMPACT = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CompactJws:
    kid: str
    alg: str
    signed: bytes
    payload: bytes
    signature: bytes


def taken_apart(token: str) -> CompactJws:
    """Every token has one spelling: no padding, no stray bits, no second member of a name. Raises `Unproven`.

    What the header says of keys (jku, jwk, x5u, x5c) is not looked at: keys come from the issuer's address alone.
    """
    parts = COMPACT.fullmatch(token) if len(token) <= LONGEST_TOKEN else None
    if parts is None:
        raise Unproven("The token is no signed JWT, or too long.")
    header, payload, signature = (_decoded(part) for part in parts.groups())
    stated = strict_json(header)
    kid, alg, kind = stated.get("kid"), stated.get("alg"), stated.get("typ")
    if alg not in ALGORITHMS:
        raise Unproven(f"The token has to be signed with {' or '.join(ALGORITHMS)}.")
    if not isinstance(kid, str) or not 1 <= len(kid) <= LONGEST_KID:
        raise Unproven("The token does not name its key (kid).")
    if "crit" in stated or "b64" in stated:
        raise Unproven("The token asks for an extension that is not served here (crit).")
    if (kind.lower() if isinstance(kind, str) else kind) not in TYPES:
        raise Unproven("The token is of another type than an access token (typ).")
    return CompactJws(kid, alg, token.rpartition(".")[0].encode("ascii"), payload, signature)


def strict_json(data: bytes) -> Json:
    """An object with each name once, in UTF-8, with finite numbers. Raises `Unproven`."""
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_once_each, parse_constant=_refused)
    except (ValueError, RecursionError):
        raise Unproven("The token's JSON is malformed.") from None
    if not isinstance(value, dict):
        raise Unproven("The token's JSON is no object.")
    return value


def _decoded(part: str) -> bytes:
    try:
        data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        raise Unproven("The token is no signed JWT.") from None
    if base64.urlsafe_b64encode(data).rstrip(b"=") != part.encode("ascii"):
        raise Unproven("The token is no signed JWT.")
    return data


def _once_each(pairs: list[tuple[str, Any]]) -> Json:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name comes twice")
    return value


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
