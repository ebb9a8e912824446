"""Limits of JWT claims: times, subjects, audiences, encodings and key names."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from server.config.sources import Unreadable
from server.identity.jwt.keys import LONGEST_TOKEN, Key, parse_jwks, parse_object, token_header
from server.identity.jwt.verifier import LEEWAY_SECONDS, TokenHolder, identify_holder
from server.identity.request_metadata import InvalidToken
from tests.support.cases import cases
from tests.support.issuer import Issuer, b64, compact_json
from tests.support.verifying import NOW, Verifying, verifying

ISSUER = Issuer(name="https://issuer.example")
RSA, EC = ISSUER.keys
CLAIMS: dict[str, Any] = {"iss": ISSUER.name, "aud": "shop", "sub": "u", "exp": NOW + 60}


@pytest.fixture
async def believing() -> AsyncIterator[Verifying]:
    async with verifying(ISSUER, "shop") as own:
        yield own


def holder(**changes: object) -> TokenHolder:
    """Of a token that is known to be the issuer's."""
    return identify_holder({**CLAIMS, **changes}, ["shop"])


async def verified_holder(own: Verifying, **changes: object) -> TokenHolder:
    return await own.verifier.verify(RSA.token({**CLAIMS, **changes}))


@cases("subject", ["u", "u" * 255, "\ud7ff", "\ue000", "尾田"])
def test_subject_of_up_to_255_characters_is_accepted(subject: str) -> None:
    assert holder(sub=subject).user == subject


@cases("subject", ["", "u" * 256, "u" * 257, "\ud800", "a\udfff", 7, None, ["u"]])
def test_subject_that_is_no_such_text_is_refused(subject: object) -> None:
    with pytest.raises(InvalidToken, match="does not name its subject"):
        holder(sub=subject)


async def test_token_is_good_until_thirty_seconds_after_its_expiry(believing: Verifying) -> None:
    assert (await verified_holder(believing, exp=NOW - 29)).until == NOW + 1


@cases("claim", ["exp", "nbf", "iat"])
@cases("value", [True, "1000060", None, [1], 2**53, -(2**53), 10**400, -(10**400)])
async def test_time_that_is_no_number_of_seconds_is_refused(claim: str, value: object, believing: Verifying) -> None:
    with pytest.raises(InvalidToken, match="times are malformed"):
        await verified_holder(believing, **{claim: value})


async def test_latest_representable_expiry_is_accepted(believing: Verifying) -> None:
    assert (await verified_holder(believing, exp=2**53 - 1)).until == 2**53 - 1 + LEEWAY_SECONDS


async def test_token_without_expiry_is_refused(believing: Verifying) -> None:
    token = RSA.token({name: CLAIMS[name] for name in CLAIMS if name != "exp"})
    with pytest.raises(InvalidToken, match="does not say when it expires"):
        await believing.verifier.verify(token)


@cases(
    ("aud", "meant"), [("shop", True), (["other", "shop"], True), ("other", False), ([], False), ([7], False), (None, False)]
)
async def test_token_is_accepted_for_any_of_its_audiences_and_no_other(
    aud: object, meant: bool, believing: Verifying
) -> None:
    """Where a token has an audience, its client id does not count as one."""
    if meant:
        assert await verified_holder(believing, aud=aud)
    else:
        with pytest.raises(InvalidToken, match="another audience"):
            await verified_holder(believing, aud=aud, client_id="shop")


def test_client_is_the_first_claim_that_is_a_name() -> None:
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
def test_client_credentials_token_has_no_user(claims: dict[str, str], user: str | None) -> None:
    assert holder(**claims).user == user


# -- the header, and how a token is spelled


def token(header: object, payload: bytes = b"{}") -> str:
    return ".".join(map(b64, (compact_json(header), payload, b"s")))


@cases("kid", ["k", "k" * 256])
def test_key_name_of_up_to_256_characters_is_accepted(kid: str) -> None:
    assert token_header(token({"alg": "RS256", "kid": kid})).kid == kid


@cases("kid", ["", "k" * 257, None, 7])
def test_malformed_key_name_is_refused(kid: object) -> None:
    with pytest.raises(InvalidToken, match="does not name its key"):
        token_header(token({"alg": "RS256", "kid": kid}))


@cases("length", range(1, 9))
def test_header_of_every_length_is_decoded(length: int) -> None:
    assert token_header(token({"alg": "ES256", "kid": "k" * length})).kid == "k" * length


@cases("stray", range(1, 16))
async def test_token_with_stray_bits_in_its_last_character_is_refused(stray: int, believing: Verifying) -> None:
    """The last base64 character has bits that encode nothing."""
    only = RSA.token(CLAIMS)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    at = alphabet.index(only[-1])
    assert at % 16 == 0
    assert await believing.verifier.verify(only)
    with pytest.raises(InvalidToken, match="not a signed JWT"):
        await believing.verifier.verify(only[:-1] + alphabet[at + stray])


@cases("member", ["crit", "b64"])
def test_header_with_an_extension_is_refused(member: str) -> None:
    with pytest.raises(InvalidToken, match="extension"):
        token_header(token({"alg": "RS256", "kid": "k", member: True}))


def test_token_of_8192_bytes_is_read_and_a_longer_one_is_refused() -> None:
    header = {"alg": "RS256", "kid": "k"}
    lengths = {len(token({**header, "x": "x" * n}, b"p" * 6000)): n for n in range(200)}
    longest = token({**header, "x": "x" * lengths[LONGEST_TOKEN]}, b"p" * 6000)
    assert (len(longest), token_header(longest).kid) == (8192, "k")
    longer = min(length for length in lengths if length > 8192)
    with pytest.raises(InvalidToken, match="or too long"):
        token_header(token({**header, "x": "x" * lengths[longer]}, b"p" * 6000))


@cases("text", [b'{"a": 1, "a": 2}', b'{"a": NaN}', b'{"a": {"b": 1, "b": 1}}', b"\xff", b"{", b"[" * 100_000])
def test_ambiguous_json_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidToken, match="malformed"):
        parse_object(text)


# -- keys


def test_repr_of_a_key_shows_its_name_and_algorithm_only() -> None:
    for key in keys_of(ISSUER).values():
        assert repr(key) == f"Key(kid={key.kid!r}, alg={key.alg!r})"


@cases("kid", ["k", "k" * 256])
def test_issuer_key_with_a_valid_name_is_used(kid: str) -> None:
    assert {key.kid for key in keys_of(ISSUER, kid=kid).values()} == {kid}


@cases("kid", ["", "k" * 257, 7, None])
def test_issuer_key_with_a_malformed_name_is_left_out(kid: object) -> None:
    assert keys_of(ISSUER, kid=kid) == {}


@cases(("bits", "used"), [(2047, False), (2048, True), (8192, True), (8193, False)])
def test_rsa_keys_of_2048_to_8192_bits_are_used(bits: int, used: bool) -> None:
    modulus = (2**bits - 1).to_bytes(bits // 8 + 1, "big").lstrip(b"\0")
    assert bool(keys_of(Issuer(keys=[RSA]), n=b64(modulus))) is used


def test_hundred_keys_in_256_kib_are_read_and_all_others_count_as_unusable() -> None:
    listed = compact_json({"keys": [EC.jwk(kid=f"ec-{n}") for n in range(102)]})
    found = parse_jwks(listed.ljust(2**18))
    assert [kid for kid, _ in found.keys] == [f"ec-{n}" for n in range(100)]
    assert found.unusable == 2
    with pytest.raises(Unreadable, match="more than 262144 bytes"):
        parse_jwks(listed.ljust(2**18 + 1))


def keys_of(issuer: Issuer, **changes: object) -> dict[tuple[str, str], Key]:
    stated = [{**each.jwk(), **changes} for each in issuer.keys]
    return dict(parse_jwks(json.dumps({"keys": stated}).encode()).keys)
