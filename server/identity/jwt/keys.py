"""The issuer's public keys (JWKS), refreshed by one task, and used for up to a day while the issuer does not answer."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypeGuard

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt import InvalidKeyError
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from jwt.utils import base64url_decode

from server.config.sources import MOST_BYTES, JsonError, Unreadable, open_source, strict_json
from server.identity.request_metadata import InvalidToken, KeysUnavailable
from session.resilience.tasks import wait_for

Json = dict[str, Any]


def parse_object(data: bytes) -> Json:
    """Parses a JSON object in UTF-8. Raises `InvalidToken` for anything else, and for all that `strict_json` refuses."""
    try:
        value = strict_json(data)
    except JsonError:
        raise InvalidToken("The token's JSON is malformed.") from None
    if not isinstance(value, dict):
        raise InvalidToken("The token's JSON is not an object.")
    return value


LONGEST_TOKEN = 8 * 1024
MOST_KEYS = 100
ALGORITHMS = ("RS256", "ES256")
TYPES = (None, "jwt", "at+jwt", "application/at+jwt")
"""Accepted values of `typ`. Others, such as a logout token's, are not access tokens (RFC 8725, 3.11)."""
COMPACT = re.compile(r"([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
"""Matches a compact JWT without base64 padding. PyJWT accepts padding, but the cache needs one spelling per token."""


class TokenHeader(NamedTuple):
    kid: str
    alg: str


def token_header(token: str) -> TokenHeader:
    """Parses a signed compact JWT's header, whose own keys (jku, jwk, x5u, x5c) are ignored. Raises `InvalidToken`."""
    compact = COMPACT.fullmatch(token) if len(token) <= LONGEST_TOKEN else None
    if compact is None:
        raise InvalidToken("The token is not a signed JWT, or too long.")
    try:
        header = parse_object(base64url_decode(compact[1]))
    except ValueError:
        raise InvalidToken("The token is not a signed JWT.") from None
    kid, alg, typ = header.get("kid"), header.get("alg"), header.get("typ")
    if alg not in ALGORITHMS:
        raise InvalidToken(f"The token has to be signed with {' or '.join(ALGORITHMS)}.")
    if not _is_named(kid):
        raise InvalidToken("The token does not name its key (kid).")
    if "crit" in header or "b64" in header:
        raise InvalidToken("The token asks for an extension that is not served here (crit).")
    if (typ.lower() if isinstance(typ, str) else typ) not in TYPES:
        raise InvalidToken("The token is of another type than an access token (typ).")
    return TokenHeader(kid, alg)


@dataclass(frozen=True, slots=True)
class Key:
    """A public key that verifies tokens signed with `alg`. Two keys are equal if `kid`, `alg` and `der` are."""

    kid: str
    alg: str
    public: RSAPublicKey | EllipticCurvePublicKey = field(compare=False, repr=False)
    der: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeySet:
    """Keys by id and algorithm, so that a token cannot choose the algorithm of its key. `unusable` counts the issuer's other
    keys. `ahead_seconds` is the issuer's clock minus this machine's, None if unknown."""

    keys: Mapping[tuple[str, str], Key]
    unusable: int = 0
    ahead_seconds: float | None = None


def parse_jwks(text: bytes) -> KeySet:
    """Parses a JWKS, leaving out keys that cannot be used, and those after `MOST_KEYS`. Raises `Unreadable`."""
    if len(text) > MOST_BYTES:
        raise Unreadable(f"it answers with more than {MOST_BYTES} bytes")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("it is not JSON") from None
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise Unreadable('it is no key set, which has "keys"')
    found: dict[tuple[str, str], Key] = {}
    for each in listed[:MOST_KEYS]:
        if key := _usable(each):
            found.setdefault((key.kid, key.alg), key)
    return KeySet(found, len(listed) - len(found))


def _usable(jwk: Any) -> Key | None:
    if not isinstance(jwk, dict) or not _is_named(jwk.get("kid")) or jwk.get("use", "sig") != "sig":
        return None
    operations = jwk.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations:
        return None
    alg = {"RSA": "RS256", "EC": "ES256"}.get(str(jwk.get("kty")))
    if alg is None or jwk.get("alg", alg) != alg:
        return None
    # Only the public members: a JWKS may contain private keys too.
    members = {name: jwk.get(name) for name in ("kty", "n", "e", "crv", "x", "y") if name in jwk}
    try:
        read: Any = RSAAlgorithm.from_jwk(members) if alg == "RS256" else ECAlgorithm.from_jwk(members)
    except (InvalidKeyError, UnsupportedAlgorithm, ValueError, TypeError, KeyError, AttributeError):
        return None
    if isinstance(read, RSAPublicKey) and not 2048 <= read.key_size <= 8192:
        return None
    if isinstance(read, EllipticCurvePublicKey) and not isinstance(read.curve, SECP256R1):
        return None
    return Key(jwk["kid"], alg, read, read.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def _is_named(kid: Any) -> TypeGuard[str]:
    return isinstance(kid, str) and 1 <= len(kid) <= 256


STEP_SECONDS = 2.0
ALL_SECONDS = 3.0
Read = Callable[[], Awaitable[KeySet]]


@asynccontextmanager
async def jwks_source(url: str) -> AsyncIterator[Read]:
    """Yields a function that reads the key set or raises `Unreadable`."""
    async with AsyncExitStack() as stack:
        source = open_source(url, stack, "application/jwk-set+json, application/json", STEP_SECONDS, ALL_SECONDS)

        async def read() -> KeySet:
            return replace(parse_jwks(await source.read()), ahead_seconds=_ahead(source.date))

        yield read


def _ahead(date: str | None) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() - time.time() if date else None
    except ValueError:
        return None


logger = logging.getLogger(__name__)
FRESH_SECONDS = 10 * 60.0
KEPT_SECONDS = 24 * 3600.0
"""Seconds for which the last keys are used while the issuer does not answer."""
ASKED_SECONDS = 30.0
"""An unknown key id causes a refresh at once, but at most one in this many seconds."""
WAIT_SECONDS = 0.5
"""Longest time, in seconds, that a request waits for the first read of the keys, and again for a refresh."""
RETRY_SECONDS = (1.0, 30.0)


class IssuerKeys:
    """The issuer's keys. `keep_fresh` must be running, since only that task sends requests to the issuer."""

    def __init__(self, read: Read, clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._keys: KeySet | None = None
        self._read_at = 0.0
        self._wanted = asyncio.Event()
        self._looked = asyncio.Event()
        self._may_be_wanted_at = clock()
        self._failures = 0

    @property
    def current(self) -> KeySet | None:
        """The keys, the same object until a key changes; None before the first read, and once older than `KEPT_SECONDS`."""
        if self._keys is not None and self._clock() - self._read_at > KEPT_SECONDS:
            self._keys = None
        return self._keys

    async def key_of(self, header: TokenHeader) -> Key | None:
        """Returns a token's key; None if it is not among the loaded keys. May wait `WAIT_SECONDS` for the first read, and
        again for a refresh. Raises `KeysUnavailable` if no keys are loaded."""
        keys = self.current
        if keys is None and not self._failures:
            await wait_for(self._looked, WAIT_SECONDS)  # the first read is still under way
            keys = self.current
        if keys is None:
            raise KeysUnavailable
        if (found := keys.keys.get(header)) or not self._request_refresh():
            return found
        await wait_for(self._looked, WAIT_SECONDS)  # the refresh goes on; a later request finds its result
        keys = self.current
        return keys.keys.get(header) if keys else None

    async def keep_fresh(self) -> None:
        """Refreshes the keys, periodically and on request, until cancelled."""
        while True:
            await self._look()
            self._looked.set()
            if not await wait_for(self._wanted, self._pause()):
                self._looked.clear()
            self._wanted.clear()

    def _request_refresh(self) -> bool:
        """Requests a refresh, unless one was requested within `ASKED_SECONDS`. Returns True if a refresh is under way."""
        now = self._clock()
        if now >= self._may_be_wanted_at:
            self._may_be_wanted_at = now + ASKED_SECONDS
            self._looked.clear()
            self._wanted.set()
        return not self._looked.is_set()

    async def _look(self) -> None:
        try:
            keys = await self._read()
        except Unreadable as error:
            self._record_failure(str(error))
            return
        except Exception:  # any error: this task must go on, or the keys would not be refreshed again
            logger.exception("the issuer's keys could not be read")
            self._record_failure("they could not be read")
            return
        if self._failures:
            logger.info("MANGA_JWT_JWKS_URL answers again")
        self._failures, self._read_at = 0, self._clock()
        if self._keys is None or keys.keys != self._keys.keys:
            self._keys = keys
            told = logger.info if keys.keys else logger.warning
            told("the issuer has %d keys for this server, and %d for something else", len(keys.keys), keys.unusable)

    def _record_failure(self, why: str) -> None:
        self._failures += 1
        if self._failures == 1:
            left = "the last ones go on" if self._keys else "there are none yet, so no caller can be admitted"
            logger.warning("MANGA_JWT_JWKS_URL: %s; %s", why, left)

    def _pause(self) -> float:
        least, most = RETRY_SECONDS
        return min(least * 2 ** min(self._failures - 1, 10), most) if self._failures else FRESH_SECONDS
