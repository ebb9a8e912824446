from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import SplitResult, unquote, urlsplit

from tools.store.backends.aws_address import is_region, parameters

ALIAS = "manga-titles"
_SCHEMES = {"http": (False, False), "https": (True, False), "aoss+https": (True, True), "aoss+http": (False, True)}
_AOSS_HOST = re.compile(r"[a-z0-9]+\.([a-z]{2,}(?:-[a-z]+)+-[0-9]+)\.aoss\.amazonaws\.com")


@dataclass(frozen=True, slots=True)
class OpenSearchAddress:
    """A parsed `http[s]://[user:password@]host[:port][/prefix][?alias=NAME][&ca=FILE]` or
    `aoss+https://HOST[?alias=NAME][&region=REGION]` (Serverless, signed with the credentials of the environment).

    `region` is None except for Serverless, where a HOST like ID.REGION.aoss.amazonaws.com implies it. `aoss+http` is for an
    emulator on this machine. `ca`: file of CA certificates (None: the driver's). `prefix` is empty or begins with "/"."""

    host: str
    port: int
    tls: bool
    prefix: str = ""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    alias: str = ALIAS
    ca: str | None = None
    region: str | None = None

    @classmethod
    def parse(cls, url: str) -> OpenSearchAddress:
        """Parses the URL. Raises ValueError if any part of it is invalid; the message contains no password."""
        parts = urlsplit(url)
        if parts.scheme not in _SCHEMES:
            raise ValueError(f"scheme {parts.scheme!r} is none of http, https, aoss+https")
        tls, serverless = _SCHEMES[parts.scheme]
        host, port = _host_and_port(parts)
        options = parameters(parts.query, ("alias", "ca", "region"))
        if "ca" in options and not tls:
            raise ValueError("ca is for https:// only")
        if serverless and (parts.username or parts.password):
            raise ValueError("Serverless takes AWS credentials from the environment, no user and password")
        alias = options.get("alias", ALIAS)
        if not re.fullmatch(r"[a-z][a-z0-9_-]{0,99}", alias):
            raise ValueError("alias may have up to 100 lower-case letters, digits, _ and -, and begins with a letter")
        return cls(
            host,
            port or (443 if tls else 80 if serverless else 9200),
            tls,
            parts.path.rstrip("/"),
            unquote(parts.username) if parts.username else None,
            unquote(parts.password) if parts.password else None,
            alias,
            options.get("ca"),
            _region(host, options, tls, serverless),
        )

    @property
    def serverless(self) -> bool:
        return self.region is not None

    def __str__(self) -> str:
        """Returns the address without user and password."""
        scheme = ("aoss+" if self.serverless else "") + ("https" if self.tls else "http")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}{self.prefix}, alias {self.alias}"


def _host_and_port(parts: SplitResult) -> tuple[str, int | None]:
    try:
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError("the port has to be a number up to 65535") from None
    if not host or port == 0:
        raise ValueError("a host is missing, as in https://search.example:9200")
    return host, port


def _region(host: str, options: dict[str, str], tls: bool, serverless: bool) -> str | None:
    stated = options.get("region")
    if not serverless:
        if stated is not None:
            raise ValueError("region is for aoss+https:// only")
        return None
    if not tls and not _is_this_machine(host):
        raise ValueError("aoss+http is for a stand-in on this machine; use aoss+https")
    known = _AOSS_HOST.fullmatch(host)
    region = stated or (known.group(1) if known else "")
    if not is_region(region):
        raise ValueError("Serverless needs a host like ID.REGION.aoss.amazonaws.com, or ?region=REGION")
    return region


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
