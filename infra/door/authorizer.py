"""Lets a customer's socket in: what API Gateway asks at `$connect`, and tells at `$disconnect`.

One file of the standard library alone (and the botocore that Lambda has), deployed as it is: the signature is checked by
writing down the one block that a right signature has (RFC 8017, 8.2.2, EMSA-PKCS1-v1_5) and comparing all of it, so that
nothing of a forged one is ever parsed. The token comes as a subprotocol, the only header that a browser lets a page set:
`new WebSocket(url, ["manga-chat", token])`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

PROTOCOL = "manga-chat"
MOST_SOCKETS = 10
"""Most sockets of one customer at a time: some tabs, on some devices."""
SOCKET_SECONDS = 7200
"""The longest that API Gateway keeps a socket; one whose end was not noted counts no longer."""
MOST_TOKEN = 8192
MOST_KEYS = 150_000
"""Bytes of a set of keys, as much as the balancer reads of one."""
LEAST_BITS, MOST_BITS = 2048, 4096
LEEWAY_SECONDS = 30
END_OF_TIME = 2**53
FRESH_SECONDS, AGAIN_SECONDS, KEPT_SECONDS = 600, 30, 86_400
FETCH_SECONDS = 3
SHA_256 = bytes.fromhex("3031300d060960864801650304020105000420")
"""The bytes before the digest of SHA-256 in a signed block (RFC 8017, 9.2, note 1)."""
USER = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?")
"""OpenID Connect's bound of a subject; it travels as a header."""
ENCODED = re.compile(r"[A-Za-z0-9_-]+")
Json = dict[str, Any]


class Unproven(Exception):
    """The token proves nobody. The text reveals nothing of its content."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The believed issuer, and the audiences that a token may be for."""

    issuer: str
    audiences: tuple[str, ...]

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Rules:
        stated = (each.strip() for each in environment["JWT_AUDIENCE"].split(","))
        return cls(environment["JWT_ISSUER"], tuple(filter(None, stated)))


@dataclass(frozen=True, slots=True)
class Customer:
    """The holder of a token, until a Unix second."""

    user: str
    until: int


def verified(token: str, key_of: Callable[[str], Mapping[str, Any] | None], rules: Rules, now: float) -> Customer:
    """Returns the holder of the token. Raises `Unproven`."""
    parts = token.split(".")
    if len(token) > MOST_TOKEN or len(parts) != 3 or not all(ENCODED.fullmatch(part) for part in parts):
        raise Unproven("The token is not a signed JWT.")
    head = _object(parts[0])
    if head.get("alg") != "RS256" or "crit" in head or not isinstance(head.get("kid"), str):
        raise Unproven("The token is not signed with RS256 by a key that it names.")
    key = key_of(head["kid"])
    if key is None:
        raise Unproven("The token is signed with a key that its issuer does not have.")
    if not _signed(f"{parts[0]}.{parts[1]}".encode(), _decoded(parts[2]), key):
        raise Unproven("The token's signature is wrong.")
    return _customer(_object(parts[1]), rules, now)


def _customer(claims: Json, rules: Rules, now: float) -> Customer:
    for name in ("exp", "nbf", "iat"):
        value = claims.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < END_OF_TIME:
            raise Unproven("The token's times are malformed.")
    if "exp" not in claims or claims["exp"] + LEEWAY_SECONDS <= now:
        raise Unproven("The token has expired.")
    if max(claims.get("nbf", 0), claims.get("iat", 0)) - LEEWAY_SECONDS > now:
        raise Unproven("The token is not valid yet.")
    if claims.get("iss") != rules.issuer:
        raise Unproven("The token is of another issuer.")
    meant = claims.get("aud", claims.get("client_id"))  # an access token of Amazon Cognito has no aud
    if not any(each in rules.audiences for each in (meant if isinstance(meant, list) else [meant])):
        raise Unproven("The token is meant for another audience.")
    user = claims.get("sub")
    if not isinstance(user, str) or not USER.fullmatch(user):
        raise Unproven("The token does not name its subject.")
    if "cnf" in claims or claims.get("gty") == "client-credentials" or user == claims.get("client_id"):
        raise Unproven("The token is not a customer's bearer token.")
    return Customer(user, int(claims["exp"]))


def _signed(said: bytes, signature: bytes, key: Mapping[str, Any]) -> bool:
    try:
        modulus, exponent = (int.from_bytes(_decoded(key[part])) for part in ("n", "e"))
    except (KeyError, TypeError, Unproven):
        return False
    size, number = (modulus.bit_length() + 7) // 8, int.from_bytes(signature)
    if not LEAST_BITS <= modulus.bit_length() <= MOST_BITS or exponent < 3 or exponent >= 2**32 or exponent % 2 == 0:
        return False
    if len(signature) != size or number >= modulus:
        return False
    block = SHA_256 + hashlib.sha256(said).digest()
    right = b"\x00\x01" + b"\xff" * (size - len(block) - 3) + b"\x00" + block
    return hmac.compare_digest(pow(number, exponent, modulus).to_bytes(size), right)


def _decoded(text: str) -> bytes:
    if not isinstance(text, str) or not ENCODED.fullmatch(text) or len(text) % 4 == 1:
        raise Unproven("The token is not a signed JWT.")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _object(text: str) -> Json:
    try:
        read = json.loads(_decoded(text))
    except (ValueError, RecursionError):
        raise Unproven("The token is not a signed JWT.") from None
    if not isinstance(read, dict):
        raise Unproven("The token is not a signed JWT.")
    return read


def fetched(url: str) -> bytes:
    """Reads the set of keys, over HTTPS and from that address alone."""
    if not url.startswith("https://"):
        raise ValueError("keys come over https")
    with urllib.request.build_opener(_NoOther).open(url, timeout=FETCH_SECONDS) as response:
        return bytes(response.read(MOST_KEYS + 1))


class _NoOther(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *ignored: Any) -> None:
        """Refuses redirects, which then raise HTTPError: an issuer's keys are at one address."""


@dataclass(slots=True)
class Keys:
    """The issuer's keys. For an unknown key they are read again now and then; the last ones count for a day while the issuer
    is away."""

    read: Callable[[], bytes]
    clock: Callable[[], float] = time.monotonic
    _known: dict[str, Json] = field(default_factory=dict)
    _read_at: float | None = None
    _asked_at: float | None = None

    def of(self, kid: str) -> Json | None:
        now = self.clock()
        age = KEPT_SECONDS if self._read_at is None else now - self._read_at
        rested = self._asked_at is None or now - self._asked_at >= AGAIN_SECONDS
        if rested and (age >= FRESH_SECONDS or kid not in self._known):
            self._asked_at = now
            self._ask(now)
        lasts = self._read_at is not None and now - self._read_at < KEPT_SECONDS
        return self._known.get(kid) if lasts else None

    def _ask(self, now: float) -> None:
        try:
            told = self.read()
            keys = json.loads(told)["keys"] if len(told) <= MOST_KEYS else []
            found = {str(each["kid"]): each for each in keys if _is_for_signing(each)}
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            print(json.dumps({"keys": "unread", "why": type(error).__name__}))
            return
        if found:
            self._known, self._read_at = found, now


def _is_for_signing(key: Json) -> bool:
    kind = (key["kty"], key.get("use", "sig"), key.get("alg", "RS256"))
    return "kid" in key and kind == ("RSA", "sig", "RS256")


class Sockets:
    """Counts a customer's sockets in one item of a table: a set of bounded size, whose members are the opening time and id
    of a socket each."""

    def __init__(self, table: str, driver: Any) -> None:
        self._table, self._driver = table, driver

    def open(self, user: str, opened_ms: int, connection: str) -> bool:
        """Notes a socket; False if the customer has as many as are allowed."""
        if self._added(user, opened_ms, connection):
            return True
        return self._forgot_old(user, opened_ms) and self._added(user, opened_ms, connection)

    def close(self, user: str, opened_ms: int, connection: str) -> None:
        """Forgets a socket. One that was closed because it flooded (outside.py) keeps its place for `SOCKET_SECONDS`, so
        that opening others leads to none."""
        noted = {"customer": {"S": f"closed {connection}"}}
        if self._driver.get_item(TableName=self._table, Key=noted, ConsistentRead=True).get("Item"):
            return
        self._update(user, "DELETE #open :some", {":some": {"SS": [_member(opened_ms, connection)]}})

    def _added(self, user: str, opened_ms: int, connection: str) -> bool:
        values = {
            ":some": {"SS": [_member(opened_ms, connection)]},
            ":most": {"N": str(MOST_SOCKETS)},
            ":end": {"N": str(opened_ms // 1000 + SOCKET_SECONDS)},
        }
        fewer = "attribute_not_exists(#open) OR size(#open) < :most"
        try:
            self._update(user, "ADD #open :some SET ends_at = :end", values, ConditionExpression=fewer)
        except self._driver.exceptions.ConditionalCheckFailedException:
            return False
        return True

    def _forgot_old(self, user: str, now_ms: int) -> bool:
        item = self._driver.get_item(TableName=self._table, Key=_key(user), ConsistentRead=True).get("Item", {})
        members = item.get("open", {}).get("SS", [])
        old = [each for each in members if now_ms - int(each.partition(" ")[0]) >= SOCKET_SECONDS * 1000]
        if old:
            self._update(user, "DELETE #open :some", {":some": {"SS": old}})
        return bool(old)

    def _update(self, user: str, expression: str, values: Json, **more: Any) -> None:
        self._driver.update_item(
            TableName=self._table,
            Key=_key(user),
            UpdateExpression=expression,
            ExpressionAttributeNames={"#open": "open"},
            ExpressionAttributeValues=values,
            **more,
        )


def _key(user: str) -> Json:
    """Returns the key of a customer's item, a hash: the table names nobody."""
    return {"customer": {"S": hashlib.sha256(user.encode()).hexdigest()}}


def _member(opened_ms: int, connection: str) -> str:
    return f"{opened_ms} {connection}"


def token_of(protocols: str) -> str:
    """Returns the token among the subprotocols that a client offers. Raises `Unproven`."""
    offered = [each.strip() for each in protocols.split(",")]
    if len(offered) != 2 or offered[0] != PROTOCOL:
        raise Unproven(f"The subprotocols have to be {PROTOCOL} and the token.")
    return offered[1]


@dataclass(frozen=True, slots=True)
class Door:
    rules: Rules
    keys: Keys
    sockets: Sockets
    clock: Callable[[], float] = time.time

    def answer(self, event: Json) -> Json:
        """Answers the authorizer's question, which has a type, and events of sockets that were admitted or have closed."""
        asked = event["requestContext"]
        if event.get("type") == "REQUEST":
            return self._let_in(event)
        if asked["eventType"] == "DISCONNECT":
            self.sockets.close(asked["authorizer"]["user"], asked["connectedAt"], asked["connectionId"])
        return {"statusCode": 200, "headers": {"Sec-WebSocket-Protocol": PROTOCOL}}

    def _let_in(self, event: Json) -> Json:
        """Admits a customer. Raises the text that API Gateway answers with 401; a denying policy is a 403 (Lambda
        authorizers)."""
        headers = {name.lower(): value for name, value in event["headers"].items()}
        try:
            token = token_of(headers.get("sec-websocket-protocol", ""))
            customer = verified(token, self.keys.of, self.rules, self.clock())
        except Unproven as why:
            print(json.dumps({"refused": str(why)}))
            raise Exception("Unauthorized") from None
        asked = event["requestContext"]
        room = self.sockets.open(customer.user, asked["connectedAt"], asked["connectionId"])
        if not room:
            print(json.dumps({"refused": "The customer has too many sockets."}))
        statement = {"Action": "execute-api:Invoke", "Effect": "Allow" if room else "Deny", "Resource": event["methodArn"]}
        return {
            "principalId": "customer",
            "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
            "context": {"user": customer.user, "until": str(customer.until)},
        }


@cache
def _door() -> Door:
    import boto3

    url = os.environ["JWT_JWKS_URL"]
    sockets = Sockets(os.environ["SOCKETS_TABLE"], boto3.client("dynamodb"))
    return Door(Rules.read(os.environ), Keys(lambda: fetched(url)), sockets)


def handler(event: Json, context: object) -> Json:
    """Lambda's entry."""
    return _door().answer(event)
