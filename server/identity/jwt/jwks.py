"""An issuer's public keys (RFC 7517): which of them may verify a token here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt import InvalidKeyError
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from server.identity.jwt.token_header import LONGEST_KID, TokenHeader

RSA_BITS = range(2048, 8192 + 1)
MOST_KEYS = 100
PublicKey = RSAPublicKey | EllipticCurvePublicKey


class JwksError(Exception):
    """The keys could not be had; the message says why, and shows no content."""


@dataclass(frozen=True, slots=True)
class Key:
    """One that may verify tokens with the algorithm `alg`; equal to another with the same bytes."""

    kid: str
    alg: str
    public: PublicKey = field(compare=False, repr=False)
    der: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeySet:
    """By key id *and* algorithm: what a token says of its algorithm has to be what its key is for. `unusable` counts the
    keys for something else; `ahead_seconds` is how far the clock of whoever served them is ahead of this one."""

    keys: Mapping[tuple[str, str], Key]
    unusable: int = 0
    ahead_seconds: float | None = None

    def key_of(self, header: TokenHeader) -> Key | None:
        return self.keys.get((header.kid, header.alg))


def parse_jwks(text: bytes) -> KeySet:
    """Reads a key set. Raises `JwksError` for what is none. Keys for something else, or too weak, are left out."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise JwksError("it is not JSON") from None
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise JwksError('it is no key set, which has "keys"')
    found: dict[tuple[str, str], Key] = {}
    for each in listed[:MOST_KEYS]:
        if key := _usable(each):
            found.setdefault((key.kid, key.alg), key)
    return KeySet(found, len(listed) - len(found))


def _usable(jwk: Any) -> Key | None:
    if not isinstance(jwk, dict) or not _is_named(jwk.get("kid")) or not _is_to_verify(jwk):
        return None
    alg = {"RSA": "RS256", "EC": "ES256"}.get(str(jwk.get("kty")))
    if alg is None or jwk.get("alg", alg) != alg:
        return None
    # Of the public members alone, so that a set that holds private keys too is not read as one.
    members = {name: jwk.get(name) for name in ("kty", "n", "e", "crv", "x", "y") if name in jwk}
    try:
        read: Any = RSAAlgorithm.from_jwk(members) if alg == "RS256" else ECAlgorithm.from_jwk(members)
    except (InvalidKeyError, UnsupportedAlgorithm, ValueError, TypeError, KeyError, AttributeError):
        return None
    if isinstance(read, RSAPublicKey) and read.key_size not in RSA_BITS:
        return None
    if isinstance(read, EllipticCurvePublicKey) and not isinstance(read.curve, SECP256R1):
        return None
    return Key(jwk["kid"], alg, read, read.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def _is_named(kid: Any) -> bool:
    return isinstance(kid, str) and 1 <= len(kid) <= LONGEST_KID


def _is_to_verify(jwk: Mapping[str, Any]) -> bool:
    operations = jwk.get("key_ops", ["verify"])
    return jwk.get("use", "sig") == "sig" and isinstance(operations, list) and "verify" in operations
