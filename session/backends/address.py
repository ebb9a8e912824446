"""Where a Redis is and how to greet it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """A parsed `redis://`, `rediss://` or `unix://` URL. Its repr shows no password."""

    host: str = "127.0.0.1"
    port: int = 6379
    path: str | None = None
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    database: int = 0

    @classmethod
    def parse(cls, url: str) -> RedisAddress:
        """Raises ValueError, naming the part that is wrong and never the password."""
        parts = urlsplit(url)
        if parts.scheme not in ("redis", "rediss", "unix"):
            raise ValueError(f"scheme {parts.scheme!r} is not one of redis, rediss, unix")
        user = unquote(parts.username) if parts.username else None
        secret = unquote(parts.password) if parts.password else None
        if parts.scheme == "unix":
            return cls(path=parts.path, username=user, password=secret, database=_database(parse_qs(parts.query)))
        try:
            port = parts.port or 6379
        except ValueError:
            raise ValueError("the port is not a number between 1 and 65535") from None
        database = parts.path.strip("/") or "0"
        if not database.isdecimal():
            raise ValueError("the path has to be a database number, as in redis://host:6379/0")
        tls = _tls(parse_qs(parts.query)) if parts.scheme == "rediss" else None
        return cls(parts.hostname or "127.0.0.1", port, None, tls, user, secret, int(database))

    def __str__(self) -> str:
        return self.path or f"{self.host}:{self.port}"


def _database(query: dict[str, list[str]]) -> int:
    number = query.get("db", ["0"])[0]
    if not number.isdecimal():
        raise ValueError("db has to be a database number, as in unix:///run/redis.sock?db=0")
    return int(number)


def _tls(query: dict[str, list[str]]) -> ssl.SSLContext:
    """Verifies by default; `?ssl_ca_certs=FILE` names a private authority."""
    authorities = query.get("ssl_ca_certs")
    return ssl.create_default_context(cafile=authorities[0] if authorities else None)
