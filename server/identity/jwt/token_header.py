"""What a token says of its signature (RFC 7515, section 4.1), read to find the key, before anything of it is believed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from jwt.utils import base64url_decode

from server.identity.identifier import Unproven
from server.identity.jwt.strict_json import strict_json

LONGEST_TOKEN = 8 * 1024
LONGEST_KID = 256
ALGORITHMS = ("RS256", "ES256")
TYPES = (None, "jwt", "at+jwt", "application/at+jwt")
"""A token that says it is something else (a logout token, a DPoP proof) is not one to call tools with (RFC 8725, 3.11)."""
COMPACT = re.compile(r"([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
"""Without the padding that PyJWT tolerates: a token has one spelling, and is remembered by it."""


@dataclass(frozen=True, slots=True)
class TokenHeader:
    """The key that signed a token, and the algorithm it was signed with."""

    kid: str
    alg: str


def token_header(token: str) -> TokenHeader:
    """Reads the header of a signed token in its compact form. Raises `Unproven`.

    What it says of keys (jku, jwk, x5u, x5c) is not looked at: keys come from the issuer's address alone.
    """
    compact = COMPACT.fullmatch(token) if len(token) <= LONGEST_TOKEN else None
    if compact is None:
        raise Unproven("The token is no signed JWT, or too long.")
    try:
        header = strict_json(base64url_decode(compact[1]))
    except ValueError:
        raise Unproven("The token is no signed JWT.") from None
    kid, alg, typ = header.get("kid"), header.get("alg"), header.get("typ")
    if alg not in ALGORITHMS:
        raise Unproven(f"The token has to be signed with {' or '.join(ALGORITHMS)}.")
    if not isinstance(kid, str) or not 1 <= len(kid) <= LONGEST_KID:
        raise Unproven("The token does not name its key (kid).")
    if "crit" in header or "b64" in header:
        raise Unproven("The token asks for an extension that is not served here (crit).")
    if (typ.lower() if isinstance(typ, str) else typ) not in TYPES:
        raise Unproven("The token is of another type than an access token (typ).")
    return TokenHeader(kid, alg)
