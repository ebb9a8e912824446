"""What a token says, read without any signature: bounds, moments and spellings at their very edge."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from server.identity.claims import Expected, Proven
from server.identity.compact_jws import strict_json, taken_apart
from server.identity.identifier import Unproven
from server.identity.jwks import Key, KeySet, parse_jwks
from server.identity.verifier import Verified
from tests.support.issuer import Issuer

NOW = 1_000_000.0
EXPECTED = Expected("https://issuer.example", {"shop"})
CLAIMS: dict[str, Any] = {"iss": "https://issuer.example", "aud": "shop", "sub": "u", "exp": NOW + 60}


def holder(**changes: object) -> Proven:
    return EXPECTED.holder({**CLAIMS, **changes}, NOW)


@pytest.mark.parametrize("subject", ["u", "u" * 255, "\ud7ff", "\ue000", "尾田"])
def test_a_subject_is_text_of_up_to_255_characters(subject: str) -> None:
    assert holder(sub=subject).user == subject


@pytest.mark.parametrize("subject", ["", "u" * 256, "u" * 257, "\ud800", "a\udfff", 7, None, ["u"]])
def test_anything_else_names_no_subject(subject: object) -> None:
    with pytest.raises(Unproven, match="does not name its subject"):
        holder(sub=subject)


def test_a_token_is_good_until_half_a_minute_past_its_end_and_not_at_that_moment() -> None:
    assert holder(exp=NOW - 29).until == NOW + 1
    with pytest.raises(Unproven, match="has expired"):
        holder(exp=NOW - 30)


@pytest.mark.parametrize("claim", ["nbf", "iat"])
def test_a_token_is_good_from_half_a_minute_before_its_beginning(claim: str) -> None:
    assert holder(**{claim: NOW + 30})
    with pytest.raises(Unproven, match="not valid yet"):
        holder(**{claim: NOW + 31})


@pytest.mark.parametrize("value", [True, "1000060", None, [1], float("inf"), float("nan"), 10**400])
def test_a_time_that_is_no_number_is_malformed(value: object) -> None:
    with pytest.raises(Unproven, match="times are malformed"):
        holder(exp=value)


def test_a_token_without_an_end_proves_nobody() -> None:
    with pytest.raises(Unproven, match="does not say when it expires"):
        EXPECTED.holder({name: CLAIMS[name] for name in CLAIMS if name != "exp"}, NOW)


@pytest.mark.parametrize(
    ("aud", "meant"), [("shop", True), (["other", "shop"], True), ("other", False), ([], False), ([7], False), (None, False)]
)
def test_a_token_is_meant_for_one_of_its_audiences(aud: object, meant: bool) -> None:
    if meant:
        assert holder(aud=aud)
    else:
        with pytest.raises(Unproven, match="another audience"):
            holder(aud=aud, client_id="shop")


def test_the_client_is_the_first_name_that_is_one() -> None:
    assert holder(client_id="", azp=7, cid="c", appid="d").client == "c"
    assert holder(azp="\ud800").client is None


@pytest.mark.parametrize(
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


# -- the token taken apart


def token(header: object, payload: bytes = b"{}") -> str:
    return ".".join(
        base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (json.dumps(header).encode(), payload, b"s")
    )


@pytest.mark.parametrize("kid", ["k", "k" * 256])
def test_a_key_is_named_with_up_to_256_characters(kid: str) -> None:
    assert taken_apart(token({"alg": "RS256", "kid": kid})).kid == kid


@pytest.mark.parametrize("kid", ["", "k" * 257, None, 7])
def test_anything_else_names_no_key(kid: object) -> None:
    with pytest.raises(Unproven, match="does not name its key"):
        taken_apart(token({"alg": "RS256", "kid": kid}))


@pytest.mark.parametrize("length", range(1, 9))
def test_every_length_of_a_part_is_read(length: int) -> None:
    payload = b"x" * length
    assert taken_apart(token({"alg": "ES256", "kid": "k"}, payload)).payload == payload


@pytest.mark.parametrize("last", "xyz059-_")
def test_a_token_has_one_spelling(last: str) -> None:
    """Whatever stands in the bits of the last character that say nothing."""
    only = token({"alg": "RS256", "kid": "k"})
    assert only.endswith("w")
    with pytest.raises(Unproven, match="no signed JWT"):
        taken_apart(only[:-1] + last)


@pytest.mark.parametrize("member", ["crit", "b64"])
def test_extensions_are_refused(member: str) -> None:
    with pytest.raises(Unproven, match="extension"):
        taken_apart(token({"alg": "RS256", "kid": "k", member: True}))


def test_a_token_of_8_kib_is_looked_at_and_a_longer_one_is_not() -> None:
    header = {"alg": "RS256", "kid": "k"}
    lengths = {len(token({**header, "x": "x" * n}, b"p" * 6000)): n for n in range(200)}
    longest = token({**header, "x": "x" * lengths[8192]}, b"p" * 6000)
    assert (len(longest), taken_apart(longest).kid) == (8192, "k")
    longer = min(length for length in lengths if length > 8192)
    with pytest.raises(Unproven, match="or too long"):
        taken_apart(token({**header, "x": "x" * lengths[longer]}, b"p" * 6000))


@pytest.mark.parametrize(
    "text", [b'{"a": 1, "a": 2}', b'{"a": NaN}', b'{"a": {"b": 1, "b": 1}}', b"\xff", b"{", b"[" * 100_000]
)
def test_json_that_can_be_read_in_two_ways_is_malformed(text: bytes) -> None:
    with pytest.raises(Unproven, match="malformed"):
        strict_json(text)


# -- keys


def test_a_keys_text_shows_its_name_and_nothing_else() -> None:
    for key in keys_of(Issuer()).values():
        assert repr(key) == f"Key(kid={key.kid!r}, alg={key.alg!r})"


@pytest.mark.parametrize("kid", ["k", "k" * 256])
def test_a_key_of_the_issuers_may_have_such_a_name(kid: str) -> None:
    assert {key.kid for key in keys_of(Issuer(), kid=kid).values()} == {kid}


@pytest.mark.parametrize("kid", ["", "k" * 257, 7, None])
def test_a_key_without_such_a_name_is_none(kid: object) -> None:
    assert keys_of(Issuer(), kid=kid) == {}


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
