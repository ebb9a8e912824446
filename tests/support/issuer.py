"""An issuer of tokens: real keys, real signatures, and its key set over a real socket, as well or badly as a test wants it."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as new_ec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as new_rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from tools.registry import TOOLS

Json = dict[str, Any]
AUDIENCE = "https://tools.example/mcp"
ALL_TOOLS = tuple(tool.name for tool in TOOLS)
WELL, GARBAGE, NO_SET, HUGE, FAILING, REDIRECTING, HANGING, CUT_OFF, DRIPPING = (
    "well", "garbage", "no set", "huge", "failing", "redirecting", "hanging", "cut off", "dripping",
)  # fmt: skip
LONGEST_HANG = 30.0


def scope(*tools: str) -> str:
    return " ".join(f"mcp:manga-tools:{tool}" for tool in tools)


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def compact_json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class SigningKey:
    kid: str
    alg: str
    private: Any

    @classmethod
    def rsa(cls, kid: str, bits: int = 2048) -> SigningKey:
        return cls(kid, "RS256", new_rsa(public_exponent=65537, key_size=bits))

    @classmethod
    def ec(cls, kid: str, curve: Any = None) -> SigningKey:
        return cls(kid, "ES256", new_ec(curve or SECP256R1()))

    def jwk(self, **members: object) -> Json:
        """The public half, as a key set has it."""
        algorithm = RSAAlgorithm if isinstance(self.private, RSAPrivateKey) else ECAlgorithm
        read = algorithm.to_jwk(self.private.public_key(), as_dict=True)
        read.pop("key_ops", None)
        return {**read, "kid": self.kid, "use": "sig", "alg": self.alg, **members}

    def sign(self, signed: bytes) -> bytes:
        if isinstance(self.private, RSAPrivateKey):
            return bytes(RSAAlgorithm(RSAAlgorithm.SHA256).sign(signed, self.private))
        return bytes(ECAlgorithm(ECAlgorithm.SHA256).sign(signed, self.private))

    def signed(self, header: Json | bytes, payload: Json | bytes) -> str:
        """A token of exactly these, whatever sense they make."""
        parts = [each if isinstance(each, bytes) else compact_json(each) for each in (header, payload)]
        text = ".".join(map(b64, parts))
        return f"{text}.{b64(self.sign(text.encode('ascii')))}"

    def token(self, claims: Json, **header: object) -> str:
        return self.signed({"alg": self.alg, "kid": self.kid, "typ": "at+jwt", **header}, claims)


@dataclass
class Issuer:
    """`behaves` is how its key set is served from now on; `asked` counts how often it was."""

    name: str = ""
    keys: list[SigningKey] = field(default_factory=lambda: [SigningKey.rsa("rsa-1"), SigningKey.ec("ec-1")])
    behaves: str = WELL
    asked: int = 0
    released: Event = field(default_factory=Event)

    @property
    def jwks(self) -> Json:
        return {"keys": [key.jwk() for key in self.keys]}

    @property
    def jwks_url(self) -> str:
        return f"{self.name}/jwks.json"

    @property
    def settings(self) -> dict[str, str]:
        """What a server has to be told to believe this issuer."""
        return {
            "MANGA_AUTH": "jwt",
            "MANGA_JWT_JWKS_URL": self.jwks_url,
            "MANGA_JWT_ISSUER": self.name,
            "MANGA_JWT_AUDIENCE": AUDIENCE,
        }

    def claims(self, subject: str = "demo-user-1", *tools: str, now: float | None = None, **changes: object) -> Json:
        """Of a user's access token for these tools, or all; a change to None leaves the claim out."""
        now = time.time() if now is None else now
        own = {
            "iss": self.name,
            "sub": subject,
            "aud": AUDIENCE,
            "client_id": "web-shop",
            "iat": int(now),
            "exp": int(now) + 300,
            "scope": scope(*(tools or ALL_TOOLS)),
        }
        return {name: value for name, value in (own | changes).items() if value is not None}

    def token(self, subject: str = "demo-user-1", *tools: str, key: SigningKey | None = None, **changes: object) -> str:
        return (key or self.keys[0]).token(self.claims(subject, *tools, **changes))

    def agents_token(self, *tools: str, client: str = "the-agent", **changes: object) -> str:
        """From client credentials: its subject is the client."""
        return self.token(client, *tools, client_id=client, **changes)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *ignored: object) -> None:
        """Clients that give up are what some tests are about."""


@contextmanager
def issuing(port: int = 0, issuer: Issuer | None = None) -> Iterator[Issuer]:
    """An issuer that answers on a port of this machine until the block ends; with a given one, the same keys again."""
    own = issuer or Issuer()
    with _Server(("127.0.0.1", port), _handler_of(own)) as server:
        own.name = own.name or f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield own
        finally:
            own.released.set()
            server.shutdown()
            thread.join()


def _handler_of(own: Issuer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            own.asked += 1
            status, body, more = _answer(own)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), "Connection": "close", **more}.items():
                self.send_header(name, value)
            self.end_headers()
            if own.behaves == DRIPPING:  # a byte now and then, so that no read of its client times out
                with suppress(OSError):
                    for byte in body:
                        self.wfile.write(bytes([byte]))
                        own.released.wait(0.05)
            else:
                self.wfile.write(body if own.behaves != CUT_OFF else body[: len(body) // 2])
            self.close_connection = True

        def log_message(self, *ignored: object) -> None:
            pass

    return Handler


def _answer(issuer: Issuer) -> tuple[int, bytes, dict[str, str]]:
    match issuer.behaves:
        case "garbage":
            return 200, b"<html>\xff\x00 Bad gateway", {}
        case "no set":
            return 200, b'["keys"]', {}
        case "huge":
            return 200, compact_json({"keys": [], "padding": "x" * 2**20}), {}
        case "failing":
            return 500, b"", {}
        case "redirecting":
            return 302, b"", {"Location": f"{issuer.jwks_url}?elsewhere"}
        case "hanging":
            issuer.released.wait(LONGEST_HANG)
    return 200, compact_json(issuer.jwks), {"Content-Type": "application/jwk-set+json"}
