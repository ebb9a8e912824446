"""A token is accepted only if signed by the issuer, for this server, within its time and in canonical form."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.identity.jwt.keys import LONGEST_TOKEN
from server.identity.jwt.verifier import LEEWAY_SECONDS
from server.identity.request_metadata import InvalidToken
from session.resilience.lru import Lru
from tests.support.cases import cases
from tests.support.issuer import AUDIENCE, Issuer, SigningKey, b64, compact_json
from tests.support.verifying import NOW, Verifying, verifying
from tools.registry import TOOLS

ISSUER = Issuer(name="https://issuer.example")
RSA, EC = ISSUER.keys
STRANGER, SMALL = SigningKey.rsa("rsa-1"), SigningKey.rsa("small", bits=1024)
CLAIMS = ISSUER.claims(now=NOW)


@pytest.fixture
async def believing() -> AsyncIterator[Verifying]:
    async with verifying(ISSUER) as own:
        yield own


async def refusal(own: Verifying, token: str) -> str:
    """Why; the reason never holds anything of the token."""
    with pytest.raises(InvalidToken) as caught:
        await own.verifier.verify(token)
    assert not token or token[-20:] not in str(caught.value)
    assert caught.value.__cause__ is None
    return str(caught.value)


@cases("key", [RSA, EC], ids=lambda key: key.alg)
@cases("kind", ["at+jwt", "application/at+jwt", "JWT", None])
async def test_token_signed_by_the_issuer_is_accepted(key: SigningKey, kind: str | None, believing: Verifying) -> None:
    header = {"alg": key.alg, "kid": key.kid, **({"typ": kind} if kind else {})}
    holder = await believing.verifier.verify(key.signed(header, CLAIMS))
    assert (holder.user, holder.client, len(holder.scopes)) == ("demo-user-1", "web-shop", len(TOOLS))
    assert "demo-user-1" not in holder.principal


def hmac_signed(secret: bytes, header: dict[str, Any]) -> str:
    text = f"{b64(compact_json(header))}.{b64(compact_json(CLAIMS))}"
    return f"{text}.{b64(hmac.new(secret, text.encode(), hashlib.sha256).digest())}"


def with_public_key_as_secret(encoding: Encoding) -> str:
    format_ = PublicFormat.SubjectPublicKeyInfo
    secret = RSA.private.public_key().public_bytes(encoding, format_)
    return hmac_signed(secret, {"alg": "HS256", "kid": RSA.kid, "typ": "JWT"})


def resigned(token: str, change: Callable[[list[str]], list[str]]) -> str:
    return ".".join(change(token.split(".")))


def header(**changes: object) -> str:
    own = {"alg": "RS256", "kid": RSA.kid, "typ": "at+jwt", **changes}
    return RSA.signed({name: value for name, value in own.items() if value is not None}, CLAIMS)


VALID = RSA.token(CLAIMS)
ES_SIGNATURE = EC.token(CLAIMS).split(".")[2]
HOSTILE = {
    "nothing": "",
    "words": "no token",
    "not text": "\0not text",
    "half a surrogate": "\ud800.\ud800.\ud800",
    "two parts": VALID.rpartition(".")[0],
    "an encrypted token's five parts": f"{VALID}.a.b",
    "a newline at the end": VALID + "\n",
    "padding": VALID + "=",
    "padding that PyJWT tolerates": VALID + "==",
    "a character that lenient decoders skip": VALID[:-5] + "!" + VALID[-5:],
    "stray bits in the last character": VALID[:-1] + chr(ord(VALID[-1]) + 1),
    "no signature": VALID.rpartition(".")[0] + ".",
    "alg none": f"{b64(compact_json({'alg': 'none', 'kid': RSA.kid}))}.{b64(compact_json(CLAIMS))}.",
    "alg none with the old signature": resigned(VALID, lambda p: [b64(compact_json({"alg": "none", "kid": RSA.kid})), *p[1:]]),
    "alg nOnE": header(alg="nOnE"),
    "HS256 with the public key in PEM": with_public_key_as_secret(Encoding.PEM),
    "HS256 with the public key in DER": with_public_key_as_secret(Encoding.DER),
    "RS256 in the header, the other kind of key": RSA.signed({"alg": "ES256", "kid": RSA.kid}, CLAIMS),
    "an EC key for RS256": EC.signed({"alg": "RS256", "kid": EC.kid}, CLAIMS),
    "RS384": header(alg="RS384"),
    "PS256": header(alg="PS256"),
    "alg a list": header(alg=["RS256"]),
    "alg missing": header(alg=None),
    "kid missing": header(kid=None),
    "kid empty": header(kid=""),
    "kid a number": header(kid=1),
    "kid an object": header(kid={"a": 1}),
    "kid unknown": header(kid="rsa-2"),
    "kid a path": header(kid="../../../../dev/null"),
    "kid SQL": header(kid="rsa-1' OR '1'='1"),
    "kid an address": header(kid="https://attacker.example/jwks.json"),
    "kid endless": header(kid="k" * 257),
    "crit": header(crit=["exp"]),
    "crit empty": header(crit=[]),
    "b64": header(b64=False, crit=["b64"]),
    "b64 alone": header(b64=True),
    "typ logout": header(typ="logout+jwt"),
    "typ dpop": header(typ="dpop+jwt"),
    "typ a number": header(typ=1),
    "a stranger's key": STRANGER.token(CLAIMS),
    "a stranger's key, given along": STRANGER.token(CLAIMS, jwk=STRANGER.jwk()),
    "a stranger's key, pointed to": STRANGER.token(CLAIMS, jku="https://attacker.example/jwks.json", x5u="https://attacker.example/"),
    "a stranger's certificate": STRANGER.token(CLAIMS, x5c=["MIIB"]),
    "another payload": resigned(VALID, lambda p: [p[0], b64(compact_json({**CLAIMS, "sub": "demo-user-2"})), p[2]]),
    "the other key's signature": resigned(VALID, lambda p: [*p[:2], ES_SIGNATURE]),
    "an ES256 signature of zeros": resigned(EC.token(CLAIMS), lambda p: [*p[:2], b64(bytes(64))]),
    "an ES256 signature in DER's length": resigned(EC.token(CLAIMS), lambda p: [*p[:2], b64(bytes(70))]),
    "header no object": RSA.signed(b'["RS256"]', CLAIMS),
    "header twice alg": RSA.signed(b'{"alg":"none","alg":"RS256","kid":"rsa-1"}', CLAIMS),
    "header twice kid": RSA.signed(b'{"alg":"RS256","kid":"x","kid":"rsa-1"}', CLAIMS),
    "header not UTF-8": RSA.signed(b'{"alg":"RS256","kid":"rsa-1","x":"\xff"}', CLAIMS),
    "header in UTF-16": RSA.signed('{"alg":"RS256","kid":"rsa-1"}'.encode("utf-16"), CLAIMS),
    "header endless in depth": RSA.signed(b"[" * 5000, b"{}"),
    "payload no object": RSA.signed({"alg": "RS256", "kid": "rsa-1"}, b'"claims"'),
    "payload twice sub": RSA.signed({"alg": "RS256", "kid": "rsa-1"}, compact_json(CLAIMS)[:-1] + b',"sub":"admin"}'),
    "payload with NaN": RSA.signed({"alg": "RS256", "kid": "rsa-1"}, compact_json(CLAIMS)[:-1] + b',"nbf":NaN}'),
    "payload with 1e999": RSA.signed({"alg": "RS256", "kid": "rsa-1"}, compact_json(CLAIMS)[:-1] + b',"nbf":1e999}'),
    "too long": RSA.token({**CLAIMS, "padding": "x" * LONGEST_TOKEN}),
    "a nested token": RSA.signed({"alg": "RS256", "kid": "rsa-1", "cty": "JWT"}, VALID.encode()),
}  # fmt: skip


@cases("name", HOSTILE)
async def test_hostile_token_is_refused_and_not_cached(name: str, believing: Verifying) -> None:
    """The verifier does not remember a hostile token as a valid one."""
    assert await refusal(believing, HOSTILE[name])
    assert len(believing.verifier.verified) == 0


async def test_valid_token_and_header_of_the_hostile_table_are_accepted(believing: Verifying) -> None:
    assert await believing.verifier.verify(VALID)
    assert await believing.verifier.verify(header())


WRONG_CLAIMS = {
    "another issuer": {"iss": "https://issuer.example/"},
    "no issuer": {"iss": None},
    "issuers": {"iss": ["https://issuer.example"]},
    "bound to a key by DPoP": {"cnf": {"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}},
    "bound to a certificate": {"cnf": {"x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2"}},
    "bound to nothing that is known": {"cnf": {}},
    "another audience": {"aud": "https://other.example"},
    "no audience and another client": {"aud": None},
    "no audience and no client": {"aud": None, "client_id": None},
    "an audience beside a client that would do": {"aud": "x", "client_id": AUDIENCE},
    "an empty audience": {"aud": ""},
    "audiences of others": {"aud": ["a", "b", 1, None]},
    "part of the audience": {"aud": AUDIENCE[:-1]},
    "an audience object": {"aud": {AUDIENCE: 1}},
    "no expiry": {"exp": None},
    "expiry as text": {"exp": str(int(NOW) + 300)},
    "expiry true": {"exp": True},
    "nbf as text": {"nbf": "0"},
    "no subject": {"sub": None},
    "an empty subject": {"sub": ""},
    "subject a number": {"sub": 7},
    "an endless subject": {"sub": "s" * 256},
    "half a surrogate": {"sub": "\ud800"},
}


@cases("name", WRONG_CLAIMS)
async def test_signed_token_with_wrong_claims_is_refused(name: str, believing: Verifying) -> None:
    """The signature of each token is valid."""
    claims = ISSUER.claims(now=NOW, **WRONG_CLAIMS[name])
    payload = json.dumps(claims).encode()  # with escapes, which can hold half a surrogate
    assert await refusal(believing, RSA.signed({"alg": "RS256", "kid": "rsa-1"}, payload))


async def test_null_time_is_malformed_and_not_absent(believing: Verifying) -> None:
    for name in ("exp", "nbf", "iat"):
        assert "malformed" in await refusal(believing, RSA.token({**CLAIMS, name: None}))


@cases("aud", [AUDIENCE, ["other", AUDIENCE]])
async def test_one_of_several_audiences_is_enough(aud: object, believing: Verifying) -> None:
    assert await believing.verifier.verify(RSA.token({**CLAIMS, "aud": aud}))


@cases(
    ("claim", "seconds", "good"),
    [
        ("exp", -LEEWAY_SECONDS + 1, True),
        ("exp", -LEEWAY_SECONDS, False),
        ("exp", -10_000, False),
        ("nbf", LEEWAY_SECONDS, True),
        ("nbf", LEEWAY_SECONDS + 1, False),
        ("iat", LEEWAY_SECONDS, True),
        ("iat", LEEWAY_SECONDS + 1, False),
    ],
)
async def test_clocks_may_differ_by_thirty_seconds(claim: str, seconds: float, good: bool, believing: Verifying) -> None:
    """The limit is exact to the second on either side."""
    token = RSA.token({**CLAIMS, claim: NOW + seconds})
    if good:
        assert await believing.verifier.verify(token)
    else:
        assert await refusal(believing, token) in ("The token has expired.", "The token is not valid yet.")


async def test_cached_token_ends_when_it_expires(believing: Verifying) -> None:
    """A cached token expires at the same moment as one never seen before."""
    token = RSA.token(CLAIMS)
    first = await believing.verifier.verify(token)
    assert await believing.verifier.verify(token) is first
    believing.clock.now = CLAIMS["exp"] + LEEWAY_SECONDS - 0.5
    assert await believing.verifier.verify(token) is first
    believing.clock.now += 0.5
    assert "expired" in await refusal(believing, token)
    assert len(believing.verifier.verified) == 0


async def test_cached_token_ends_when_its_key_is_withdrawn() -> None:
    """A stolen key is revoked this way: after the next read of the keys its tokens are refused."""
    issuer = Issuer(name="https://issuer.example", keys=[RSA, EC])
    async with verifying(issuer) as own:
        lost, kept = RSA.token(CLAIMS), EC.token(CLAIMS)
        assert await own.verifier.verify(lost)
        issuer.keys = [EC]
        assert await own.verifier.verify(lost), "until the issuer is asked again"
        await refusal(own, STRANGER.token(CLAIMS, kid="unknown"))
        assert await refusal(own, lost)
        assert await own.verifier.verify(kept)


async def test_token_cache_is_bounded_and_drops_the_least_recently_used(believing: Verifying) -> None:
    """The one that was not seen for longest goes first."""
    verifier, (a, b, c) = believing.verifier, [RSA.token({**CLAIMS, "sub": subject}) for subject in "abc"]
    verifier.verified = Lru(2)
    for token in (a, b, a, c):
        await verifier.verify(token)
    assert [holder.user for holder in verifier.verified.values()] == ["a", "c"]


KEYS_FOR_SOMETHING_ELSE = {
    "too short": SMALL.jwk(),
    "for encryption": RSA.jwk(use="enc"),
    "for signing only": RSA.jwk(key_ops=["sign"]),
    "operations no list": RSA.jwk(key_ops="verify"),
    "for RS512": RSA.jwk(alg="RS512"),
    "for HS256": RSA.jwk(alg="HS256"),
    "without a name": {**RSA.jwk(), "kid": None},
    "a name that is no text": RSA.jwk(kid=["rsa-1"]),
    "symmetric": {"kty": "oct", "kid": "rsa-1", "k": "c2VjcmV0"},
    "another curve": SigningKey.ec("rsa-1", SECP384R1()).jwk(),
    "a point that is not on the curve": EC.jwk(x=EC.jwk()["y"]),
    "no modulus": {**RSA.jwk(), "n": None},
    "a modulus of nonsense": RSA.jwk(n="!!"),
    "an even exponent": RSA.jwk(e="Ag"),
    "no object": ["rsa-1"],
}


@cases("name", KEYS_FOR_SOMETHING_ELSE)
async def test_unusable_key_verifies_nothing_and_leaves_the_other_keys_working(name: str) -> None:
    """A key that is meant for something else does not spoil the set."""

    class Odd(Issuer):
        @property
        def jwks(self) -> dict[str, Any]:
            return {"keys": [KEYS_FOR_SOMETHING_ELSE[name], EC.jwk()]}

    async with verifying(Odd(name="https://issuer.example")) as own:
        for key in (RSA, SMALL):
            assert await refusal(own, key.token(CLAIMS))
        assert await own.verifier.verify(EC.token(CLAIMS))
        assert own.keys.current is not None
        assert own.keys.current.unusable == 1


async def test_private_keys_of_a_published_set_are_reduced_to_their_public_halves() -> None:
    """Publishing private keys is the issuer's mistake; this server does not keep them."""
    numbers = RSA.private.private_numbers()
    d = b64(numbers.d.to_bytes(256, "big"))

    class Careless(Issuer):
        @property
        def jwks(self) -> dict[str, Any]:
            return {"keys": [RSA.jwk(d=d)]}

    async with verifying(Careless(name="https://issuer.example")) as own:
        assert await own.verifier.verify(VALID)
        assert not hasattr(own.keys.current.keys["rsa-1", "RS256"].public, "private_numbers")


ALPHABET = "ABCXYZabcxyz0189-_.=+/!\n\0é"


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    key=st.sampled_from([RSA, EC]),
    edits=st.lists(
        st.tuples(st.sampled_from(["put", "drop", "insert"]), st.floats(0, 1), st.sampled_from(ALPHABET)),
        min_size=1,
        max_size=3,
    ),
)
async def test_no_changed_token_is_accepted(key: SigningKey, edits: list[tuple[str, float, str]]) -> None:
    """A character is inserted, removed or changed at any position."""
    token = changed = key.token(CLAIMS)
    for kind, where, character in edits:
        at = int(where * (len(changed) - 1))
        rest = changed[at:] if kind == "insert" else changed[at + 1 :]
        changed = changed[:at] + ("" if kind == "drop" else character) + rest
    async with verifying(ISSUER) as own:
        assert await own.verifier.verify(token)
        if changed != token:
            await refusal(own, changed)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=80))
async def test_random_bytes_in_the_shape_of_a_token_are_refused(first: bytes, second: bytes, third: bytes) -> None:
    """They raise the refusal and no other exception."""
    async with verifying(ISSUER) as own:
        await refusal(own, f"{b64(first)}.{b64(second)}.{base64.b64encode(third).decode()}")


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from([*CLAIMS, "nbf", "azp", "gty", "scp", "scopes"]), st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=5), min_size=1))  # fmt: skip
async def test_any_signed_claims_are_accepted_or_refused_without_a_crash(changes: dict[str, Any]) -> None:
    """Unusual claims of an issuer raise no unexpected exception."""
    async with verifying(ISSUER) as own:
        payload = json.dumps(CLAIMS | changes).encode()
        try:
            holder = await own.verifier.verify(RSA.signed({"alg": "RS256", "kid": "rsa-1"}, payload))
        except InvalidToken:
            return
        assert all(isinstance(each, str) and each.startswith("mcp:manga-tools:") for each in holder.scopes)
