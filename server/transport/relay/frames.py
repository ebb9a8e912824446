"""What processes say to each other: a line of JSON, and bytes behind it as they are."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json, to_json

Pairs = Sequence[tuple[bytes, bytes]]
MESSAGES, SESSIONS = "messages", "sessions"


@dataclass(frozen=True, slots=True)
class Ask:
    """A request, with its body whole. `sender` waits for the answer under `number`; `to` says which of the applications it
    is for, `user` the proven principal; it has been here for `waited_ms`. No token is part of it: `bearer` and `tokens` are
    what they prove (`server.call.Vouched`)."""

    sender: str
    number: int
    to: str
    method: str
    path: str
    query: bytes
    scheme: str
    headers: Pairs
    client: tuple[str, int] | None
    user: str | None
    waited_ms: int
    body: bytes
    bearer: Any = None
    tokens: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> bytes:
        """The same for the same request of the same principal, whoever passes it on."""
        said = (self.to, self.method, self.path, self.query.hex(), self.user or "", self.body.hex(), str(self.stream[0]))
        return hashlib.blake2b("\n".join(said).encode(), digest_size=16).digest()

    @property
    def stream(self) -> tuple[bytes, str | None]:
        """The session that it names, and the principal."""
        return next((value for name, value in self.headers if name == b"mcp-session-id"), b""), self.user

    def encoded(self) -> bytes:
        words = {
            "k": "ask",
            "from": self.sender,
            "n": self.number,
            "to": self.to,
            "method": self.method,
            "path": self.path,
            "query": self.query.decode("latin-1"),
            "scheme": self.scheme,
            "headers": _words(self.headers),
            "client": self.client,
            "user": self.user,
            "waited": self.waited_ms,
            "bearer": self.bearer,
            "tokens": self.tokens,
        }
        return to_json(words) + b"\n" + self.body


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of the answer to `number`, the `order`-th of it from 0; the first has status and headers."""

    sender: str
    number: int
    order: int
    body: bytes
    more: bool
    status: int = 0
    headers: Pairs = ()

    def encoded(self) -> bytes:
        words = {"k": "part", "from": self.sender, "n": self.number, "order": self.order, "more": self.more}
        if self.order == 0:
            words |= {"status": self.status, "headers": _words(self.headers)}
        return to_json(words) + b"\n" + self.body


@dataclass(frozen=True, slots=True)
class Left:
    """Who asked `number` no longer waits for its answer; its client was told to come back where it is `of` the messages."""

    sender: str
    number: int
    of: str = SESSIONS

    def encoded(self) -> bytes:
        return to_json({"k": "left", "from": self.sender, "n": self.number, "of": self.of}) + b"\n"


@dataclass(frozen=True, slots=True)
class Taken:
    """`number` has come and is being served."""

    sender: str
    number: int

    def encoded(self) -> bytes:
        return to_json({"k": "taken", "from": self.sender, "n": self.number}) + b"\n"


Frame = Ask | Part | Left | Taken


def decoded(message: bytes) -> Frame | None:
    """Returns None for anything that is not of these forms, whoever wrote it."""
    line, _, body = message.partition(b"\n")
    try:
        match from_json(line):
            case {"k": "ask", "from": str(), "n": int()} as words:
                return _ask(words, body)
            case {"k": "part", "from": str(sender), "n": int(number), "order": int(order), "more": bool(more)} as words:
                status, headers = int(words.get("status", 0)), _pairs(words.get("headers", ()))
                return Part(sender, number, order, body, more, status, headers)
            case {"k": "left", "from": str(sender), "n": int(number)} as words:
                return Left(sender, number, str(words.get("of", SESSIONS)))
            case {"k": "taken", "from": str(sender), "n": int(number)}:
                return Taken(sender, number)
    except (ValueError, TypeError, KeyError, LookupError, AttributeError, OverflowError, RecursionError):
        pass
    return None


def _ask(words: dict[str, Any], body: bytes) -> Ask:
    client = words["client"]
    return Ask(
        sender=words["from"],
        number=words["n"],
        to=str(words["to"]),
        method=words["method"],
        path=words["path"],
        query=words["query"].encode("latin-1"),
        scheme=words["scheme"],
        headers=_pairs(words["headers"]),
        client=None if client is None else (client[0], client[1]),
        user=words["user"],
        waited_ms=int(words["waited"]),
        body=body,
        bearer=words["bearer"],
        tokens=dict(words["tokens"]),
    )


def _words(headers: Pairs) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]


def _pairs(words: Sequence[tuple[str, str]]) -> Pairs:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in words]
