"""The checks of a token by PyJWT: encoding, signature, times, issuer and audience."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import jwt
from jwt.types import Options

from server.identity.identifier import Unproven
from server.identity.jwt.keys import Json, Key, strict_json

LEEWAY_SECONDS = 30.0
"""The largest difference accepted between the issuer's clock and this one."""
TIMES = ("exp", "nbf", "iat")
END_OF_TIME = 2**53
"""In seconds. JSON's numbers are exact up to here (RFC 8259, section 6); far above, 1e999 or 400 digits make no float."""
OPTIONS: Options = {"require": ["exp"], "verify_sub": False, "verify_jti": False}
"""The subject is checked in `verifier`, and the token's number (jti) is not used."""


class StrictJwt(jwt.PyJWT):
    """PyJWT that refuses times written as text, and claims that come twice."""

    def _decode_payload(self, decoded: dict[str, Any]) -> Json:
        """Reads the claims; PyJWT intends this to be overridden. Without `aud` (Amazon Cognito's access tokens) the app
        client is the audience."""
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
    """Returns our own words: PyJWT's may hold a part of the token."""
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
