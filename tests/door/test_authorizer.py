"""Who is let in by the function that AWS asks: as PyJWT would say of a right token, and nobody with a wrong one."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.door.authorizer import (
    FRESH_SECONDS,
    KEPT_SECONDS,
    LEEWAY_SECONDS,
    MOST_SOCKETS,
    MOST_TOKEN,
    PROTOCOL,
    SHA_256,
    SOCKET_SECONDS,
    Customer,
    Door,
    Keys,
    Rules,
    Sockets,
    Unproven,
    fetched,
    verified,
)
from tests.support.cases import cases
from tests.support.issuer import SigningKey, b64, compact_json

NOW = 1_800_000_000
RULES = Rules("https://issuer.example", ("shop", "chat"))
KEY, SMALL, STRANGER = SigningKey.rsa("k-1"), SigningKey.rsa("small", bits=1024), SigningKey.rsa("k-1")
JWKS = {each.kid: each.jwk() for each in (KEY, SMALL)}
CLAIMS: dict[str, Any] = {"iss": RULES.issuer, "aud": "chat", "sub": "customer-1", "iat": NOW, "exp": NOW + 300}


def asked(token: str, keys: dict[str, Any] = JWKS) -> Customer:
    return verified(token, keys.get, RULES, NOW)


def refusal(token: str, keys: dict[str, Any] = JWKS) -> str:
    """It never holds anything of the token."""
    with pytest.raises(Unproven) as caught:
        asked(token, keys)
    assert len(token) < 20 or token[-20:] not in str(caught.value)
    return str(caught.value)


def with_claims(**changes: object) -> str:
    return KEY.token({name: value for name, value in (CLAIMS | changes).items() if value is not None})


def test_what_the_issuer_signed_is_believed() -> None:
    token = with_claims()
    assert asked(token) == Customer("customer-1", NOW + 300)
    options: Any = {"verify_exp": False, "verify_iat": False}
    assert jwt.decode(token, KEY.private.public_key(), ["RS256"], audience="chat", options=options)["sub"] == "customer-1"


@cases(
    "claims",
    [
        {"aud": ["other", "shop"]}, {"aud": None, "client_id": "shop"}, {"nbf": NOW + LEEWAY_SECONDS},
        {"exp": NOW - LEEWAY_SECONDS + 1}, {"sub": "a b|c@d.example"}, {"exp": NOW + 0.5},
    ],
)  # fmt: skip
def test_what_differs_and_is_right_is_believed(claims: dict[str, Any]) -> None:
    assert asked(with_claims(**claims)).user == claims.get("sub", "customer-1")


@cases(
    ("claims", "why"),
    [
        ({"iss": "https://issuer.example/"}, "another issuer"),
        ({"iss": None}, "another issuer"),
        ({"aud": "chat2"}, "another audience"),
        ({"aud": []}, "another audience"),
        ({"aud": {"chat": 1}}, "another audience"),
        ({"aud": None}, "another audience"),
        ({"aud": "other", "client_id": "chat"}, "another audience"),
        ({"exp": None}, "expired"),
        ({"exp": NOW - LEEWAY_SECONDS}, "expired"),
        ({"exp": str(NOW + 300)}, "malformed"),
        ({"exp": True}, "malformed"),
        ({"exp": 10**400}, "malformed"),
        ({"nbf": NOW + LEEWAY_SECONDS + 1}, "not valid yet"),
        ({"iat": NOW + LEEWAY_SECONDS + 1}, "not valid yet"),
        ({"sub": None}, "subject"),
        ({"sub": 7}, "subject"),
        ({"sub": ""}, "subject"),
        ({"sub": "a" * 256}, "subject"),
        ({"sub": "a\r\nX-Door-User: b"}, "subject"),
        ({"sub": "作者"}, "subject"),
        ({"sub": " a"}, "subject"),
        ({"cnf": {"jkt": "x"}}, "bearer"),
        ({"gty": "client-credentials"}, "bearer"),
        ({"sub": "the-agent", "client_id": "the-agent"}, "bearer"),
    ],
    ids=lambda each: json.dumps(each)[:60],
)
def test_a_token_that_says_the_wrong_things_proves_nobody(claims: dict[str, Any], why: str) -> None:
    assert why in refusal(with_claims(**claims))


def hmac_signed() -> str:
    """With the public key as a secret."""
    secret = KEY.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    text = f"{b64(compact_json({'alg': 'HS256', 'kid': 'k-1'}))}.{b64(compact_json(CLAIMS))}"
    return f"{text}.{b64(hmac.new(secret, text.encode(), hashlib.sha256).digest())}"


def padded_short() -> str:
    """Bleichenbacher's forgery of 2006: a block that is right as far as it is read, and rubbish behind it."""
    text = f"{b64(compact_json({'alg': 'RS256', 'kid': 'three'}))}.{b64(compact_json(CLAIMS))}"
    digest = SHA_256 + hashlib.sha256(text.encode()).digest()
    block = int.from_bytes(b"\x00\x01\xff\x00" + digest + b"\x00" * (256 - len(digest) - 4))
    root = round_up_cube_root(block)
    return f"{text}.{b64(root.to_bytes(256))}"


def round_up_cube_root(number: int) -> int:
    low, high = 0, 1 << (number.bit_length() // 3 + 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if middle**3 < number else (low, middle)
    return low


HOSTILE: dict[str, Callable[[], str]] = {
    "empty": lambda: "",
    "words": lambda: "hello there",
    "alg=none": lambda: f"{b64(compact_json({'alg': 'none', 'kid': 'k-1'}))}.{b64(compact_json(CLAIMS))}.",
    "alg=none, signed": lambda: KEY.signed({"alg": "none", "kid": "k-1"}, CLAIMS),
    "alg=None": lambda: KEY.signed({"alg": None, "kid": "k-1"}, CLAIMS),
    "alg=rs256": lambda: KEY.signed({"alg": "rs256", "kid": "k-1"}, CLAIMS),
    "HMAC with the public key": hmac_signed,
    "no kid": lambda: KEY.signed({"alg": "RS256"}, CLAIMS),
    "kid is a list": lambda: KEY.signed({"alg": "RS256", "kid": ["k-1"]}, CLAIMS),
    "unknown kid": lambda: KEY.signed({"alg": "RS256", "kid": "k-2"}, CLAIMS),
    "crit": lambda: KEY.token(CLAIMS, crit=["exp"]),
    "a stranger's key": lambda: STRANGER.token(CLAIMS),
    "a key of 1024 bits": lambda: SMALL.token(CLAIMS),
    "its own jwk": lambda: STRANGER.token(CLAIMS, jwk=STRANGER.jwk()),
    "other claims under its signature": lambda: ".".join(
        (with_claims().split(".")[0], b64(compact_json(CLAIMS | {"sub": "x"})), with_claims().split(".")[2])
    ),
    "half a signature": lambda: with_claims()[:-100],
    "a longer signature": lambda: with_claims() + "AAAA",
    "signature of zeros": lambda: ".".join((*with_claims().split(".")[:2], b64(bytes(256)))),
    "signature of ones": lambda: ".".join((*with_claims().split(".")[:2], b64(b"\xff" * 256))),
    "padding": lambda: with_claims() + "==",
    "a line break": lambda: with_claims() + "\n",
    "claims are a list": lambda: KEY.signed({"alg": "RS256", "kid": "k-1"}, b"[]"),
    "claims are deep": lambda: KEY.signed({"alg": "RS256", "kid": "k-1"}, b"[" * 3000),
    "claims are no text": lambda: KEY.signed({"alg": "RS256", "kid": "k-1"}, b"\xff\xfe"),
    "too long": lambda: with_claims(more="x" * MOST_TOKEN),
    "five parts": lambda: with_claims() + ".AAAA.AAAA",
}


@cases("make", HOSTILE.values(), ids=list(HOSTILE))
def test_a_hostile_token_proves_nobody(make: Callable[[], str]) -> None:
    refusal(make())


def test_a_block_that_is_right_only_at_its_beginning_is_a_forgery() -> None:
    """With exponent 3, for which it is made: the cube of what it sends begins as a right block does."""
    weak = {"kty": "RSA", "kid": "three", "n": b64(b"\xff" * 256), "e": b64(b"\x03")}
    assert "signature is wrong" in refusal(padded_short(), {"three": weak})


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=300) | st.from_regex(r"[A-Za-z0-9_-]{0,60}\.[A-Za-z0-9_-]{0,60}\.[A-Za-z0-9_-]{0,60}", fullmatch=True)
)
def test_any_text_at_all_proves_nobody(text: str) -> None:
    refusal(text)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Source:
    """The issuer's keys, as many as it has; `away` fails."""

    def __init__(self) -> None:
        self.kids, self.away, self.asked = ["k-1"], False, 0

    def __call__(self) -> bytes:
        self.asked += 1
        if self.away:
            raise OSError
        return json.dumps({"keys": [KEY.jwk(kid=kid) for kid in self.kids] + [{"kty": "EC", "kid": "ec"}]}).encode()


def test_keys_are_asked_for_seldom_and_go_on_for_a_day_without_their_issuer() -> None:
    source, clock = Source(), Clock()
    keys = Keys(source, clock)
    assert keys.of("k-1") is not None
    assert [keys.of(f"unknown-{number}") for number in range(100)] == [None] * 100
    assert source.asked == 1, "a stranger makes nobody ask"
    source.kids = ["k-2"]
    clock.now = FRESH_SECONDS
    assert (keys.of("k-1"), source.asked) == (None, 2), "a key that was taken back is known no longer"
    source.away = True
    clock.now += KEPT_SECONDS - 1
    assert keys.of("k-2") is not None
    clock.now += 1
    assert keys.of("k-2") is None
    source.away, source.kids = False, ["k-3"]
    clock.now += 60
    assert keys.of("k-3") is not None
    assert keys.of("ec") is None


@cases("told", [b"", b"[]", b'{"keys": 1}', b'{"keys": [1]}', b"x" * 200_000, b"[" * 100_000])
def test_keys_that_are_none_change_nothing(told: bytes) -> None:
    source, clock = Source(), Clock()
    keys = Keys(source, clock)
    assert keys.of("k-1")
    keys.read = lambda: told
    clock.now = FRESH_SECONDS
    assert keys.of("k-1")


def test_keys_come_over_https_alone() -> None:
    for url in ("http://issuer.example/jwks.json", "file:///etc/passwd", "ftp://issuer.example"):
        with pytest.raises(ValueError, match="https"):
            fetched(url)


class Table:
    """A set of strings for each customer, as DynamoDB keeps it."""

    class exceptions:
        class ConditionalCheckFailedException(Exception): ...

    def __init__(self) -> None:
        self.items: dict[str, set[str]] = {}

    def get_item(self, Key: Any, **asked: Any) -> Any:
        members = self.items.get(Key["customer"]["S"])
        return {"Item": {"open": {"SS": sorted(members)}}} if members else {"Item": {}}

    def update_item(self, Key: Any, UpdateExpression: str, ExpressionAttributeValues: Any, **asked: Any) -> None:
        members = self.items.setdefault(Key["customer"]["S"], set())
        some = set(ExpressionAttributeValues[":some"]["SS"])
        if UpdateExpression.startswith("DELETE"):
            members -= some
            return
        if len(members) >= int(ExpressionAttributeValues[":most"]["N"]):
            raise self.exceptions.ConditionalCheckFailedException
        members |= some


def door(table: Table) -> Door:
    source = Source()
    return Door(RULES, Keys(source), Sockets("sockets", table), clock=lambda: NOW)


def event(token: str, connection: str = "c-1=", at: int = NOW * 1000, **more: Any) -> dict[str, Any]:
    asked = {"connectionId": connection, "connectedAt": at, "eventType": "CONNECT"}
    headers = {"Host": "x", "Sec-WebSocket-Protocol": f"{PROTOCOL}, {token}"}
    return {"type": "REQUEST", "methodArn": "arn:aws:execute-api:x", "headers": headers, "requestContext": asked, **more}


def effect(answer: dict[str, Any]) -> str:
    (statement,) = answer["policyDocument"]["Statement"]
    return str(statement["Effect"])


def test_who_has_a_token_is_let_in_as_its_subject(capsys: pytest.CaptureFixture[str]) -> None:
    answer = door(Table()).answer(event(with_claims()))
    assert (effect(answer), answer["context"]) == ("Allow", {"user": "customer-1", "until": str(NOW + 300)})
    assert answer["principalId"] == "customer", "logs of API Gateway may have it"
    assert capsys.readouterr().out == ""


@cases("protocols", ["", PROTOCOL, "x, y", f"{PROTOCOL}, a, b", f"{PROTOCOL}, not-a-token", f"{PROTOCOL},"])
def test_who_has_none_is_told_401_and_no_log_says_who(protocols: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = event("") | {"headers": {"sec-websocket-protocol": protocols}}
    with pytest.raises(Exception, match="^Unauthorized$"):
        door(Table()).answer(asked)
    assert "not-a-token" not in capsys.readouterr().out


def test_a_customer_has_so_many_sockets_and_a_farewell_makes_room() -> None:
    table = Table()
    own = door(table)
    token = with_claims()
    said = [effect(own.answer(event(token, f"c-{number}"))) for number in range(500)]
    assert said == ["Allow"] * MOST_SOCKETS + ["Deny"] * (500 - MOST_SOCKETS)
    assert effect(own.answer(event(with_claims(sub="customer-2"), "d-1"))) == "Allow"
    gone = event(token, "c-3")
    gone.pop("type")
    gone["requestContext"] |= {"eventType": "DISCONNECT", "authorizer": {"user": "customer-1"}}
    own.answer(gone)
    assert effect(own.answer(event(token, "c-500"))) == "Allow"
    assert effect(own.answer(event(token, "c-501"))) == "Deny"
    assert "customer-1" not in str(table.items)


def test_a_farewell_that_was_lost_counts_for_two_hours() -> None:
    own, token, at = door(Table()), with_claims(), NOW * 1000
    for number in range(MOST_SOCKETS):
        own.answer(event(token, f"c-{number}", at))
    assert effect(own.answer(event(token, "late", at + SOCKET_SECONDS * 1000 - 1))) == "Deny"
    assert effect(own.answer(event(token, "late", at + SOCKET_SECONDS * 1000))) == "Allow"


def test_an_open_socket_is_told_its_subprotocol_and_not_its_token() -> None:
    opened = event(with_claims())
    opened.pop("type")
    answer = door(Table()).answer(opened)
    assert answer == {"statusCode": 200, "headers": {"Sec-WebSocket-Protocol": PROTOCOL}}
