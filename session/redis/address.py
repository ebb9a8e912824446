"""Addresses of Redis: host or socket, TLS, user and database."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

SCHEMES = ("redis", "rediss", "redis+cluster", "rediss+cluster", "unix")
_OPTIONS = ("db", "ssl_ca_certs", "iam", "region")
_ONLY_FOR = {"db": ("unix",), "ssl_ca_certs": ("rediss", "rediss+cluster")}


@dataclass(frozen=True, slots=True)
class Iam:
    """Sign-in to ElastiCache with the process's AWS credentials instead of a password. `cache`: name of the cache."""

    cache: str
    region: str


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """Parsed `redis://`, `rediss://`, `redis+cluster://`, `rediss+cluster://` or `unix://` URL. `path`: the Unix socket,
    None if host and port are used. `tls`, `iam`: None if not used.

    `?ssl_ca_certs=FILE` replaces the system's certificate authorities; `?iam=CACHE&region=REGION` signs in to ElastiCache as
    the URL's user. The repr shows no password."""

    host: str = "127.0.0.1"
    port: int = 6379
    path: str | None = None
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    database: int = 0
    cluster: bool = False
    iam: Iam | None = None
    certified: str | None = None
    """A second host name to accept in the TLS certificate: the cluster's, for nodes that are reached by IP address."""

    @classmethod
    def parse(cls, url: str) -> RedisAddress:
        """Parses the URL. Raises ValueError, without secrets, for a wrong part, and OSError for an unreadable CA file."""
        parts = urlsplit(url)
        if parts.scheme not in SCHEMES:
            raise ValueError(f"scheme {parts.scheme!r} is not one of {', '.join(SCHEMES)}")
        options = _options(parts.query, parts.scheme)
        user = unquote(parts.username) if parts.username else None
        secret = unquote(parts.password) if parts.password else None
        if parts.scheme == "unix":
            if parts.netloc or not parts.path.startswith("/"):
                raise ValueError("unix:// needs the socket's whole path, as in unix:///run/redis.sock")
            return cls(path=parts.path, username=user, password=secret, database=_number(options.get("db", "0")))
        secure = parts.scheme.startswith("rediss")
        address = replace(cls._of_network(parts), username=user, password=secret)
        if "iam" in options:
            if not (secure and user and options.get("region")):
                raise ValueError("?iam= needs TLS (rediss), a user in the URL and ?region=")
            address = replace(address, iam=Iam(options["iam"], options["region"]))
        tls = ssl.create_default_context(cafile=options.get("ssl_ca_certs")) if secure else None
        return replace(address, tls=tls)

    @classmethod
    def _of_network(cls, parts: SplitResult) -> RedisAddress:
        try:
            host, port = parts.hostname, parts.port
        except ValueError:
            port = 0
        if port == 0:
            raise ValueError("the port is not a number between 1 and 65535")
        if not host:
            raise ValueError("a host is missing, as in redis://cache.example:6379")
        cluster = parts.scheme.endswith("+cluster")
        database = _number(parts.path.strip("/") or "0", cluster=cluster)
        return cls(host=host, port=port or 6379, database=database, cluster=cluster)

    def of_node(self, host: str, port: int) -> RedisAddress:
        certified = self.host if _is_number(host) and not _is_number(self.host) else None
        return replace(self, host=host, port=port, cluster=False, certified=certified)

    def __str__(self) -> str:
        return self.path or f"{self.host}:{self.port}"


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _options(query: str, scheme: str) -> dict[str, str]:
    options = {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}
    if unknown := sorted(options.keys() - set(_OPTIONS)):
        raise ValueError(f"unknown parameter {unknown[0]!r}; there are {', '.join(_OPTIONS)}")
    for name, schemes in _ONLY_FOR.items():
        if name in options and scheme not in schemes:
            raise ValueError(f"parameter {name!r} is for {' and '.join(f'{each}://' for each in schemes)} only")
    return options


def _number(text: str, *, cluster: bool = False) -> int:
    if not text.isdecimal():
        raise ValueError("the path has to be a database number, as in redis://host:6379/0 (or ?db=0 for unix://)")
    if cluster and int(text):
        raise ValueError("a cluster has only database 0")
    return int(text)
