"""A token as PyJWT checks it: its encoding and signature, and the claims that say when, by whom and for whom it is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import jwt
from jwt.types import Options

from server.identity.identifier import Unproven
from server.identity.jwt.keys import Json, Key, strict_json

LEEWAY_SECONDS = 30.0
"""How far the issuer's clock and this one may be apart."""
TIMES = ("exp", "nbf", "iat")
END_OF_TIME = 2**53
"""In seconds. JSON's numbers are exact up to here (RFC 8259, section 6); far above, 1e999 or 400 digits make no float."""
OPTIONS: Options = {"require": ["exp"], "verify_sub": False, "verify_jti": False}
"""The subject has rules of its own (`claims`), and nobody looks at the token's number."""


class StrictJwt(jwt.PyJWT):
    """PyJWT without its indulgence for claims: a time is a number and not its text, and no claim comes twice."""

    def _decode_payload(self, decoded: dict[str, Any]) -> Json:
        """Reads the claims; PyJWT means this to be overridden. An access token of Amazon Cognito has no `aud`: it is meant
        for the app client that it names."""
        claims = strict_json(decoded["payload"])
        for name in TIMES:
            if not _is_time(claims.get(name, 0)):
                raise Unproven("The token's times are malformed.")
        claims.setdefault("aud", claims.get("client_id"))
        return claims


@dataclass(frozen=True, slots=True)
class AccessTokens:
    """Tokens of one issuer that are meant for this server, under any of its `audiences`."""

    issuer: str
    audiences: Collection[str]
    _jwt: StrictJwt = field(default_factory=StrictJwt, repr=False)

    def claims(self, token: str, key: Key) -> Json:
        """Checks the token with a key of the issuer's, and the clock of this machine. Raises `Unproven`."""
        try:
            return self._jwt.decode(
                token,
                key.public,
                algorithms=[key.alg],
                issuer=self.issuer,
                audience=self.audiences,
                leeway=LEEWAY_SECONDS,
                options=OPTIONS,
            )
        except jwt.PyJWTError as error:
            raise Unproven(_reason(error)) from None


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < END_OF_TIME


def _reason(error: jwt.PyJWTError) -> str:
    """Says why in words of our own: PyJWT's may hold something of the token."""
    match error:
        case jwt.ExpiredSignatureError():
            return "The token has expired."
        case jwt.ImmatureSignatureError():
            return "The token is not valid yet."
        case jwt.MissingRequiredClaimError(claim="exp"):
            return "The token does not say when it expires."
        case jwt.InvalidIssuerError() | jwt.MissingRequiredClaimError(claim="iss"):
            return "The token is of another issuer."
        case jwt.InvalidAudienceError() | jwt.MissingRequiredClaimError(claim="aud"):
            return "The token is meant for another audience."
        case jwt.InvalidSignatureError():
            return "The token's signature is wrong."
        case jwt.InvalidIssuedAtError():
            return "The token's times are malformed."
        case _:
            return "The token is no signed JWT."
