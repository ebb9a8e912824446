"""Verification of JWTs with PyJWT, the identifier for MANGA_AUTH=jwt, and doctor's check of the issuer. A verified token is
cached until it expires or the issuer's keys change."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import jwt
from jwt.types import Options

from server.call import Bearer, Principal, RequestMetadata, VerifiedIdentity
from server.config.parsing import LONGEST_USER
from server.config.sources import Unreadable
from server.identity.jwt.keys import IssuerKeys, Json, Key, KeySet, jwks_source, parse_object, token_header
from server.identity.request_metadata import InvalidToken, KeysUnavailable, checked_user
from server.identity.tool_access import granted_scopes
from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DEGRADED, DOWN, OK, Diagnosis, Problem, network_problem
from session.resilience.lru import Lru
from tools.store.failures import DependencyFailure, Forbidden

LEEWAY_SECONDS = 30.0
"""Accepted difference between the issuer's clock and this one."""
TIMES = ("exp", "nbf", "iat")
END_OF_TIME = 2**53
"""A token's times, in epoch seconds, must be below this. Integers are exact in JSON up to here (RFC 8259, section 6); larger
numbers, such as 1e999, may not fit a float."""
OPTIONS: Options = {"require": ["exp"], "verify_sub": False, "verify_jti": False}
"""The subject is checked by `_subject`; the token's id (jti) is not used."""
SETTING = "MANGA_JWT_JWKS_URL"


class AccessTokens(jwt.PyJWT):
    """PyJWT for the tokens of one issuer. Also rejects repeated claims, and times that are not numbers."""

    def __init__(self, issuer: str, audiences: Collection[str]) -> None:
        super().__init__()
        self.issuer, self.audiences = issuer, audiences

    def claims(self, token: str, key: Key) -> Json:
        """Verifies a token with its key and this machine's clock, and returns its claims. Raises `InvalidToken`."""
        try:
            return self.decode(
                token,
                key.public,
                algorithms=[key.alg],
                issuer=self.issuer,
                audience=self.audiences,
                leeway=LEEWAY_SECONDS,
                options=OPTIONS,
            )
        except jwt.PyJWTError as error:
            raise InvalidToken(_reason(error)) from None

    def _decode_payload(self, decoded: dict[str, Any]) -> Json:
        """Overrides PyJWT's parsing of the claims. Uses `client_id` as the audience if the token has no `aud`, as in Amazon
        Cognito's access tokens. Raises `InvalidToken`."""
        claims = parse_object(decoded["payload"])
        for value in (claims.get(name, 0) for name in TIMES):
            if not isinstance(value, int | float) or isinstance(value, bool) or abs(value) >= END_OF_TIME:
                raise InvalidToken("The token's times are malformed.")
        claims.setdefault("aud", claims.get("client_id"))
        return claims


def _reason(error: jwt.PyJWTError) -> str:
    """Returns our own message for an error, since PyJWT's may contain a part of the token."""
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
            return "The token is not a signed JWT."


async def diagnose(url: str, deadline: Deadline) -> Diagnosis:
    async with jwks_source(url) as read:
        try:
            found = await read()
        except Unreadable as error:
            told = Problem(str(error), f"check {SETTING}: it has to answer with the issuer's key set")
            return Diagnosis.from_problem(network_problem(error, SETTING) or told)
    if not found.keys:
        what = f"none of its {found.unusable} keys is one for RS256 or ES256"
        return Diagnosis(DOWN, what, "have the issuer sign with RSA of at least 2048 bits, or with P-256")
    ahead = found.ahead_seconds or 0.0
    if abs(ahead) > LEEWAY_SECONDS:
        side = "ahead of" if ahead > 0 else "behind"
        remedy = f"set both by NTP: tokens are refused when clocks are more than {LEEWAY_SECONDS:.0f} s apart"
        return Diagnosis(DEGRADED, f"its clock is {abs(ahead):.0f} s {side} this machine's", remedy)
    algorithms = sorted({alg for _, alg in found.keys})
    return Diagnosis(OK, f"{len(found.keys)} keys for {' and '.join(algorithms)}")


CLIENT_CLAIMS = ("client_id", "azp", "cid", "appid")
OF_A_PERSON = ("amr", "email", "nonce", "preferred_username", "sid", "username")
"""Claims that only a person's token has, from signing in or from an account."""
FROM_CLIENT_CREDENTIALS = ("clientHost", "clientAddress")
"""Keycloak's claims of a session begun with a client's own credentials (its client scope `service_account`)."""
Claims = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TokenHolder:
    """The holder of a verified token. `user` is None for an agent's own token. `client` is None if no claim names the
    client. `principal` is a hash of client and subject. `id_token` is True for an ID token, which identifies the user beside
    an agent's token but grants no scopes. `until` is when the token expires, with leeway, in epoch seconds."""

    principal: str
    client: str | None
    user: str | None
    scopes: frozenset[str]
    id_token: bool
    until: float

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "scopes": sorted(self.scopes)}

    @classmethod
    def of_json(cls, told: Any) -> TokenHolder:
        """Parses the JSON result of a verification in another process. Raises `InvalidToken` or `KeysUnavailable` if that
        verification did, and `InvalidToken` for anything else that is no object."""
        if not isinstance(told, dict) or "unproven" in told:
            why = told.get("unproven", "") if isinstance(told, dict) else "The token is not a signed JWT."
            raise KeysUnavailable if why is None else InvalidToken(why)
        return cls(**{**told, "scopes": frozenset(told["scopes"])})


def identify_holder(claims: Claims, audiences: Collection[str]) -> TokenHolder:
    """Returns the holder by verified claims, whose scopes may have a prefix from `audiences`. Raises `InvalidToken`."""
    if "cnf" in claims:
        # RFC 7800: the holder must prove possession of the key (DPoP, RFC 9449; mTLS, RFC 8705): not supported here.
        raise InvalidToken("The token is bound to a key (cnf), so it is not a bearer token.")
    subject, client = _subject(claims), _client(claims)
    return TokenHolder(
        principal=hashlib.sha256(json.dumps([client, subject]).encode()).hexdigest()[:32],
        client=client,
        user=None if _is_agents(claims, subject, client) else subject,
        scopes=granted_scopes(claims, audiences),
        id_token=claims.get("token_use") == "id",
        until=int(claims["exp"]) + LEEWAY_SECONDS,
    )


def _subject(claims: Claims) -> str:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 1 <= len(subject) <= LONGEST_USER or not _is_text(subject):
        raise InvalidToken("The token does not name its subject.")
    return subject


def _client(claims: Claims) -> str | None:
    named = (claims.get(name) for name in CLIENT_CLAIMS)
    return next((each for each in named if isinstance(each, str) and each and _is_text(each)), None)


def _is_text(value: str) -> bool:
    """False if the text has a lone surrogate, which JSON can contain but UTF-8 cannot."""
    return not any("\ud800" <= each <= "\udfff" for each in value)


def _is_agents(claims: Claims, subject: str, client: str | None) -> bool:
    """True for a token from client credentials, of no customer. No claim that a customer can choose is enough."""
    if claims.get("gty") == "client-credentials" or claims.get("idtyp") == "app":  # Auth0; Entra ID
        return True
    if claims.get("preferred_username") == f"service-account-{client}":  # Keycloak; a customer can choose this name too
        return all(isinstance(claims.get(note), str) for note in FROM_CLIENT_CREDENTIALS)
    # RFC 9068, section 2.2; Amazon Cognito, Okta
    return subject == client and not any(claims.get(each) for each in OF_A_PERSON)


class Verifier:
    """Verifies tokens with the issuer's current keys. `clock` returns epoch seconds. `verified` maps a token's hash to the
    token's holder. Expired tokens are dropped from it, and all tokens when the issuer's keys change."""

    def __init__(self, keys: IssuerKeys, tokens: AccessTokens, clock: Callable[[], float] = time.time) -> None:
        self._keys, self._tokens, self._clock = keys, tokens, clock
        self._verified_with: KeySet | None = None
        self.verified: Lru[bytes, TokenHolder] = Lru(10_000)

    async def verify(self, token: str) -> TokenHolder:
        """Returns the token's holder. Raises `InvalidToken` or `KeysUnavailable`."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        if known := self._find_verified(digest):
            return known
        key = await self._keys.key_of(token_header(token))
        if key is None:
            raise InvalidToken("The token is signed with a key that the issuer does not have.")
        holder = identify_holder(self._tokens.claims(token, key), self._tokens.audiences)
        self._find_verified(digest)  # drops all if the keys have changed
        self.verified.put(digest, holder)
        return holder

    def _find_verified(self, digest: bytes) -> TokenHolder | None:
        if (keys := self._keys.current) is not self._verified_with:
            self._verified_with = keys
            self.verified.clear()
        known = self.verified.use(digest)
        if known is not None and self._clock() >= known.until:
            self.verified.pop(digest)
            return None
        return known


class TrustIssuer:
    """Identifies callers by tokens of the issuer. The bearer is the user's token, or the agent's with the user's token in
    `_meta`. The user is the token's subject; a call that states another user is refused. Scopes come from the token in
    `_meta` if there is one and it is no ID token, else from the bearer."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier

    async def admit(self, bearer: str | None) -> str | None:
        if bearer is None:
            raise InvalidToken("A bearer token is needed.")
        return (await self._verifier.verify(bearer)).principal

    async def identify(self, metadata: RequestMetadata, bearer: Bearer | None) -> Principal:
        if bearer is None:
            raise Forbidden("A bearer token is needed.")
        of_bearer = await self._verify(bearer.bearer if isinstance(bearer, VerifiedIdentity) else bearer, "Authorization")
        user, scopes = of_bearer.user, of_bearer.scopes
        if metadata.user_token is not None:
            known = isinstance(bearer, VerifiedIdentity) and bearer.tokens.get(metadata.user_token)
            of_user = await self._verify(known or metadata.user_token, "userToken")
            if of_user.user is None:
                raise Forbidden("userToken: The token is an agent's own, and names no user.")
            if user not in (None, of_user.user):
                raise Forbidden("userToken and the bearer token are two users'.")
            # An ID token identifies a user but grants no scopes.
            user, scopes = of_user.user, of_bearer.scopes if of_user.id_token else of_user.scopes
        named_user = checked_user(metadata.user)
        if named_user is not None and named_user != user:
            raise Forbidden("The user that is stated is not the one whose token came with the call.")
        return Principal(agent=of_bearer.client, user=user, scopes=scopes)

    async def vouch(self, bearer: str | None, tokens: Mapping[str, str]) -> VerifiedIdentity:
        return VerifiedIdentity(
            bearer and await self._verify_as_json(bearer),
            {name: await self._verify_as_json(token) for name, token in tokens.items()},
        )

    async def _verify_as_json(self, token: str) -> Any:
        try:
            return (await self._verifier.verify(token)).as_json()
        except InvalidToken as unproven:
            return {"unproven": str(unproven)}
        except KeysUnavailable:
            return {"unproven": None}

    async def _verify(self, token: Any, where: str) -> TokenHolder:
        try:
            if isinstance(token, str):
                return await self._verifier.verify(token)
            return TokenHolder.of_json(token)
        except InvalidToken as unproven:
            raise Forbidden(f"{where}: {unproven}") from None
        except KeysUnavailable:
            message = "The issuer's keys are not loaded yet, so callers cannot be identified. Try again in a moment."
            raise DependencyFailure(message, dependency="issuer", retry_after_ms=1000) from None
