"""Local replacement of API Gateway and the HTTPS load balancer.

Customers reach the agent only through this gateway: by WebSocket (subprotocols `manga-chat` and their token), or by `POST
/turns` with their token as a bearer, which is answered with server-sent events. The gateway verifies tokens with the code of
the Lambda function, applies the limits of AWS, and sends the agent what API Gateway would send. It also issues the tokens:
`POST /token` with `{"user": "…"}` signs a token for any user, with a key generated at the start. So the gateway may listen
on loopback only, and must not serve real customers.

On a second port, for the agent: `POST /@connections/ID` sends to a socket, `GET /jwks.json` returns the public key."""

from __future__ import annotations

import asyncio
import hmac
import json
import math
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from jwt.algorithms import RSAAlgorithm
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from infra.door.authorizer import MOST_SOCKETS, PROTOCOL, Customer, Rules, Unproven, token_of, verified
from infra.door.limits import (
    IDLE_SECONDS,
    LONGEST_SECONDS,
    MESSAGES_A_CUSTOMER,
    MOST_BYTES,
    SECONDS_OF_BURST,
    SILENT_SECONDS,
)

ISSUER, AUDIENCE = "https://gateway.local", "manga-chat"
TOKEN_SECONDS = 3600
SEND_SECONDS, BODY_SECONDS = 5, 10
AGENT = httpx2.Timeout(IDLE_SECONDS, connect=2)
LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
"""Of connections to the agent, which itself refuses questions that are too many."""
MOST_BUCKETS = 10_000
TOO_MANY, AGAIN = "too many messages at once; please ask again", {"Retry-After": "1"}
Json = dict[str, Any]


@dataclass(slots=True)
class Bucket:
    """Token bucket: `a_second` messages a second, and bursts of up to `SECONDS_OF_BURST` seconds' worth."""

    a_second: int
    left: float = math.inf
    seen: float = field(default_factory=time.monotonic)

    def take(self) -> bool:
        now = time.monotonic()
        self.left = min(self.a_second * SECONDS_OF_BURST, self.left + (now - self.seen) * self.a_second)
        self.seen = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


@dataclass(slots=True)
class Buckets:
    """Token buckets by name, at most `most`. Beyond that, the one unused for longest is dropped, which is full again by
    then."""

    a_second: int = MESSAGES_A_CUSTOMER
    most: int = MOST_BUCKETS
    of: dict[str, Bucket] = field(default_factory=dict)

    def take(self, name: str) -> bool:
        bucket = self.of[name] = self.of.pop(name, Bucket(self.a_second))
        if len(self.of) > self.most:
            del self.of[next(iter(self.of))]
        return bucket.take()


class Gateway:
    """The gateway as two applications: `outer` for customers, and `inner` for the agent, which listens at the URL `agent`
    and shares `secret`."""

    def __init__(self, agent: str, secret: str, messages_a_second: int) -> None:
        self._secret = secret
        self._private = generate_private_key(public_exponent=65537, key_size=2048)
        self._kid = secrets.token_hex(8)  # the agent keeps the keys that it knows for ten minutes
        self._key: Json = {**json.loads(RSAAlgorithm.to_jwk(self._private.public_key())), "kid": self._kid, "use": "sig"}
        self._rules = Rules(ISSUER, (AUDIENCE,))
        self._of_all = Bucket(messages_a_second)
        self._of_customers, self._of_addresses = Buckets(), Buckets()
        self._sockets: dict[str, WebSocket] = {}
        self._of: Counter[str] = Counter()
        self._agent = httpx2.AsyncClient(base_url=agent, timeout=AGENT, limits=LIMITS, trust_env=False)

    def outer(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/healthz", self.health),
                Route("/token", self.token, methods=["POST"]),
                Route("/turns", self.turn, methods=["POST"]),
                WebSocketRoute("/", self.socket),
            ],
            exception_handlers={HTTPException: _refused},
        )

    def inner(self) -> Starlette:
        posted = Route("/@connections/{connection:path}", self.send, methods=["POST"])
        return Starlette(routes=[posted, Route("/jwks.json", self.jwks)], exception_handlers={HTTPException: _refused})

    async def health(self, request: Request) -> Response:
        try:
            healthy = (await self._agent.get("/healthz", timeout=2)).status_code == 200
        except httpx2.HTTPError:
            healthy = False
        return JSONResponse({"status": "ok" if healthy else "no agent"}, 200 if healthy else 503)

    async def token(self, request: Request) -> Response:
        """Issues a token for any user, without authentication, since the gateway runs on a developer's machine. `seconds` in
        the body is its lifetime. Raises HTTPException (400) for another body."""
        now = int(time.time())
        try:
            asked = json.loads(await _body(request))
            user, ends = str(asked["user"]), now + int(asked.get("seconds", TOKEN_SECONDS))
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError):
            raise HTTPException(400, 'the body has to be {"user": "…"}, with "seconds" or without') from None
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": user, "iat": min(now, ends), "exp": ends}
        return JSONResponse({"token": jwt.encode(claims, self._private, "RS256", {"kid": self._kid})})

    async def jwks(self, request: Request) -> Response:
        return JSONResponse({"keys": [self._key]})

    async def turn(self, request: Request) -> Response:
        """Forwards the question with token and session, but no other header, and streams the answer. The agent verifies the
        token again. Raises HTTPException for a refusal."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        try:
            customer = self._proven(token if kind.lower() == "bearer" else "")
        except Unproven as why:
            if not self._of_addresses.take(_address(request)):
                raise HTTPException(429, TOO_MANY, AGAIN) from None
            raise HTTPException(401, str(why), {"WWW-Authenticate": "Bearer"}) from None
        body = await _body(request)
        if not self._lets(customer):
            raise HTTPException(429, TOO_MANY, AGAIN)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if session := request.headers.get("x-session-id"):
            if not session.isascii():
                raise HTTPException(400, "X-Session-ID has to be ASCII")
            headers["X-Session-ID"] = session
        asked = self._agent.build_request("POST", "/turns", content=body, headers=headers)
        try:
            answer = await self._agent.send(asked, stream=True)
        except httpx2.HTTPError:
            raise HTTPException(502, "the agent is away; please ask again", {"Retry-After": "1"}) from None
        kept = ("content-type", "www-authenticate", "retry-after")
        told = {name: answer.headers[name] for name in kept if name in answer.headers}
        return StreamingResponse(_streamed(answer), answer.status_code, {**told, "Cache-Control": "no-store"})

    async def socket(self, socket: WebSocket) -> None:
        try:
            customer = self._proven(token_of(", ".join(socket.scope["subprotocols"])))
        except Unproven as why:
            told = (str(why), 401) if self._of_addresses.take(_address(socket)) else (TOO_MANY, 429)
            await socket.send_denial_response(JSONResponse({"error": told[0]}, told[1]))
            return
        if self._of[customer.user] >= MOST_SOCKETS:
            text = f"a customer has {MOST_SOCKETS} sockets at most"
            await socket.send_denial_response(JSONResponse({"error": text}, 403))
            return
        connection = secrets.token_urlsafe(12) + "="
        self._of[customer.user] += 1
        try:
            await socket.accept(PROTOCOL)
            self._sockets[connection] = socket
            await self._listen(socket, connection, customer)
        finally:
            self._sockets.pop(connection, None)
            self._of[customer.user] -= 1
            self._of += Counter()  # removes users without sockets

    async def send(self, request: Request) -> Response:
        """Sends the agent's message to a socket, as API Gateway's `@connections` does: 410 if the socket is closed."""
        self._check(request.headers.get("x-door-secret", ""))
        socket = self._sockets.get(request.path_params["connection"])
        if socket is None:
            return Response(status_code=410)
        text = (await _body(request, 2 * MOST_BYTES)).decode()
        return Response(status_code=200 if await _is_sent(socket, text) else 410)

    async def _listen(self, socket: WebSocket, connection: str, customer: Customer) -> None:
        ends = time.monotonic() + LONGEST_SECONDS
        while True:
            try:
                message = await asyncio.wait_for(socket.receive(), min(SILENT_SECONDS, ends - time.monotonic()))
            except TimeoutError:
                return await socket.close(1001, "Going away")
            if message["type"] == "websocket.disconnect":
                return None
            if (text := message.get("text")) is None:
                return await socket.close(1003, "messages are text")
            if len(text.encode()) > MOST_BYTES:
                return await socket.close(1009, f"a message has {MOST_BYTES} bytes at most")
            if not self._lets(customer):
                said = "Too many requests"
            elif not await self._passed(text, connection, customer):
                said = "Internal server error"
            else:
                continue
            if not await _is_sent(socket, json.dumps({"message": said, "connectionId": connection})):
                return None

    async def _passed(self, text: str, connection: str, customer: Customer) -> bool:
        """Forwards a message; returns False if the agent fails. The agent itself tells customers of refused messages."""
        headers = {
            "Content-Type": "application/json",
            "X-Door-Secret": self._secret,
            "X-Door-Connection": connection,
            "X-Door-User": customer.user,
            "X-Door-Until": str(customer.until),
        }
        try:
            return (await self._agent.post("/door", content=text.encode(), headers=headers)).status_code < 500
        except httpx2.HTTPError:
            return False

    def _lets(self, customer: Customer) -> bool:
        """Returns whether the customer may send a message now. Takes a token of the customer's bucket first, and then one of
        the bucket for all, so that one flooding customer cannot use up the latter."""
        return self._of_customers.take(customer.user) and self._of_all.take()

    def _proven(self, token: str) -> Customer:
        return verified(token, {self._kid: self._key}.get, self._rules, time.time())

    def _check(self, secret: str) -> None:
        if not hmac.compare_digest(secret.encode(), self._secret.encode()):
            raise HTTPException(401, "only the agent speaks here")


def _address(connection: HTTPConnection) -> str:
    return connection.client.host if connection.client else ""


async def _body(request: Request, most: int = MOST_BYTES) -> bytes:
    body = b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise HTTPException(413, f"a message has {most} bytes at most")
    except TimeoutError:
        raise HTTPException(408, f"a message has to be whole within {BODY_SECONDS} seconds") from None
    except ClientDisconnect:
        raise HTTPException(400, "the message is not whole") from None
    return body


async def _is_sent(socket: WebSocket, text: str) -> bool:
    try:
        await asyncio.wait_for(socket.send_text(text), SEND_SECONDS)
    except (TimeoutError, RuntimeError, WebSocketDisconnect):
        return False
    return True


async def _streamed(answer: httpx2.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_raw():
            yield chunk
    except httpx2.HTTPError:
        yield b'event: error\ndata: {"name": "AGENT_AWAY", "message": "the agent is away; please ask again"}\n\n'
    finally:
        await answer.aclose()


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)
