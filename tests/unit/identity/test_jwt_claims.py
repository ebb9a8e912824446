"""What a token says at the very edge of what is taken: moments, names, audiences, spellings, and the names of keys."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from server.identity.jwt.keys import LONGEST_TOKEN, Key, KeySet, parse_jwks, strict_json, token_header
from server.identity.jwt.verifier import LEEWAY_SECONDS, Proven, Verified, prove_user
from server.identity.request_metadata import Unproven
from tests.support.cases import cases
from tests.support.issuer import Issuer, b64, compact_json
from tests.support.verifying import NOW, Verifying, verifying

ISSUER = Issuer(name="https://issuer.example")
RSA, _ = ISSUER.keys
CLAIMS: dict[str, Any] = {"iss": ISSUER.name, "aud": "shop", "sub": "u", "exp": NOW + 60}


@pytest.fixture
async def believing() -> AsyncIterator[Verifying]:
    async with verifying(ISSUER, "shop") as own:
        yield own


def holder(**changes: object) -> Proven:
    """Of a token that is known to be the issuer's."""
    return prove_user({**CLAIMS, **changes}, ["shop"])


async def verified_holder(own: Verifying, **changes: object) -> Proven:
    return await own.verifier.verify(RSA.token({**CLAIMS, **changes}))


@cases("subject", ["u", "u" * 255, "\ud7ff", "\ue000", "尾田"])
def test_a_subject_is_text_of_up_to_255_characters(subject: str) -> None:
    assert holder(sub=subject).user == subject


@cases("subject", ["", "u" * 256, "u" * 257, "\ud800", "a\udfff", 7, None, ["u"]])
def test_anything_else_names_no_subject(subject: object) -> None:
    with pytest.raises(Unproven, match="does not name its subject"):
        holder(sub=subject)


async def test_a_holder_is_good_until_half_a_minute_past_the_tokens_end(believing: Verifying) -> None:
    assert (await verified_holder(believing, exp=NOW - 29)).until == NOW + 1


@cases("claim", ["exp", "nbf", "iat"])
@cases("value", [True, "1000060", None, [1], 2**53, -(2**53), 10**400, -(10**400)])
async def test_a_time_that_is_no_number_of_seconds_is_malformed(claim: str, value: object, believing: Verifying) -> None:
    with pytest.raises(Unproven, match="times are malformed"):
        await verified_holder(believing, **{claim: value})


async def test_the_latest_time_there_is_is_one(believing: Verifying) -> None:
    assert (await verified_holder(believing, exp=2**53 - 1)).until == 2**53 - 1 + LEEWAY_SECONDS


async def test_a_token_without_an_end_proves_nobody(believing: Verifying) -> None:
    token = RSA.token({name: CLAIMS[name] for name in CLAIMS if name != "exp"})
    with pytest.raises(Unproven, match="does not say when it expires"):
        await believing.verifier.verify(token)


@cases(
    ("aud", "meant"), [("shop", True), (["other", "shop"], True), ("other", False), ([], False), ([7], False), (None, False)]
)
async def test_a_token_is_meant_for_one_of_its_audiences(aud: object, meant: bool, believing: Verifying) -> None:
    """Where it names any, the client that it names is none."""
    if meant:
        assert await verified_holder(believing, aud=aud)
    else:
        with pytest.raises(Unproven, match="another audience"):
            await verified_holder(believing, aud=aud, client_id="shop")


def test_the_client_is_the_first_name_that_is_one() -> None:
    assert holder(client_id="", azp=7, cid="c", appid="d").client == "c"
    assert holder(azp="\ud800").client is None


@cases(
    ("claims", "user"),
    [
        ({"gty": "client-credentials"}, None),
        ({"idtyp": "app"}, None),
        ({"sub": "agent", "client_id": "agent"}, None),
        ({"sub": "agent", "client_id": "agent", "email": "a@example"}, "agent"),
        ({"preferred_username": "service-account-a", "azp": "a"}, "u"),
        ({"preferred_username": "service-account-a", "azp": "a", "clientHost": "h", "clientAddress": "a"}, None),
        ({"preferred_username": "service-account-a", "azp": "a", "clientHost": "h"}, "u"),
    ],
)
def test_an_agents_own_token_names_no_user(claims: dict[str, str], user: str | None) -> None:
    assert holder(**claims).user == user


# -- the header, and how a token is spelled


def token(header: object, payload: bytes = b"{}") -> str:
    return ".".join(map(b64, (compact_json(header), payload, b"s")))


@cases("kid", ["k", "k" * 256])
def test_a_key_is_named_with_up_to_256_characters(kid: str) -> None:
    assert token_header(token({"alg": "RS256", "kid": kid})).kid == kid


@cases("kid", ["", "k" * 257, None, 7])
def test_anything_else_names_no_key(kid: object) -> None:
    with pytest.raises(Unproven, match="does not name its key"):
        token_header(token({"alg": "RS256", "kid": kid}))


@cases("length", range(1, 9))
def test_every_length_of_a_header_is_read(length: int) -> None:
    assert token_header(token({"alg": "ES256", "kid": "k" * length})).kid == "k" * length


@cases("stray", range(1, 16))
async def test_a_token_has_one_spelling(stray: int, believing: Verifying) -> None:
    """Whatever stands in the bits of the last character that say nothing."""
    only = RSA.token(CLAIMS)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    at = alphabet.index(only[-1])
    assert at % 16 == 0
    assert await believing.verifier.verify(only)
    with pytest.raises(Unproven, match="not a signed JWT"):
        await believing.verifier.verify(only[:-1] + alphabet[at + stray])


@cases("member", ["crit", "b64"])
def test_extensions_are_refused(member: str) -> None:
    with pytest.raises(Unproven, match="extension"):
        token_header(token({"alg": "RS256", "kid": "k", member: True}))


def test_a_token_of_8_kib_is_looked_at_and_a_longer_one_is_not() -> None:
    header = {"alg": "RS256", "kid": "k"}
    lengths = {len(token({**header, "x": "x" * n}, b"p" * 6000)): n for n in range(200)}
    longest = token({**header, "x": "x" * lengths[LONGEST_TOKEN]}, b"p" * 6000)
    assert (len(longest), token_header(longest).kid) == (8192, "k")
    longer = min(length for length in lengths if length > 8192)
    with pytest.raises(Unproven, match="or too long"):
        token_header(token({**header, "x": "x" * lengths[longer]}, b"p" * 6000))


@cases("text", [b'{"a": 1, "a": 2}', b'{"a": NaN}', b'{"a": {"b": 1, "b": 1}}', b"\xff", b"{", b"[" * 100_000])
def test_json_that_can_be_read_in_two_ways_is_malformed(text: bytes) -> None:
    with pytest.raises(Unproven, match="malformed"):
        strict_json(text)


# -- keys


def test_a_keys_text_shows_its_name_and_nothing_else() -> None:
    for key in keys_of(ISSUER).values():
        assert repr(key) == f"Key(kid={key.kid!r}, alg={key.alg!r})"


@cases("kid", ["k", "k" * 256])
def test_a_key_of_the_issuers_may_have_such_a_name(kid: str) -> None:
    assert {key.kid for key in keys_of(ISSUER, kid=kid).values()} == {kid}


@cases("kid", ["", "k" * 257, 7, None])
def test_a_key_without_such_a_name_is_none(kid: object) -> None:
    assert keys_of(ISSUER, kid=kid) == {}


def keys_of(issuer: Issuer, **changes: object) -> dict[tuple[str, str], Key]:
    stated = [{**each.jwk(), **changes} for each in issuer.keys]
    return dict(parse_jwks(json.dumps({"keys": stated}).encode()).keys)


def test_a_remembered_holder_is_forgotten_at_the_moment_its_token_ends() -> None:
    verified, keys = Verified(), KeySet({})
    verified.find(b"1", keys, NOW)
    verified.add(b"1", keys, holder(exp=NOW - 20))
    assert verified.find(b"1", keys, NOW + 9.5) is not None
    assert verified.find(b"1", keys, NOW + 10) is None
    assert len(verified) == 0
