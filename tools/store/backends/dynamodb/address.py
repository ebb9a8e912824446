"""Which DynamoDB, and whose tables in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

DEFAULT_PREFIX = "manga-"
_KNOWN = ("endpoint", "table_prefix")


@dataclass(frozen=True, slots=True)
class DynamoAddress:
    """A parsed `dynamodb://REGION[?endpoint=URL][&table_prefix=PREFIX]`. Credentials come from the AWS environment, never
    from here."""

    region: str
    endpoint: str | None = None
    prefix: str = DEFAULT_PREFIX

    @classmethod
    def parse(cls, url: str) -> DynamoAddress:
        """Raises ValueError, naming the part that is wrong."""
        parts = urlsplit(url)
        if parts.scheme != "dynamodb":
            raise ValueError(f"scheme {parts.scheme!r} is not dynamodb")
        if not re.fullmatch(r"[a-z]{2,}(-[a-z]+)+-[0-9]+", parts.netloc):
            raise ValueError("the part after dynamodb:// has to be a region, as in dynamodb://ap-northeast-1")
        if parts.path.strip("/") or parts.fragment:
            raise ValueError("nothing but ?endpoint= and table_prefix= may follow the region")
        query = parse_qs(parts.query, keep_blank_values=True)
        if unknown := sorted(query.keys() - set(_KNOWN)):
            raise ValueError(f"unknown parameter {unknown[0]!r}; there are {' and '.join(_KNOWN)}")
        if twice := [name for name, values in query.items() if len(values) > 1]:
            raise ValueError(f"{twice[0]} is there more than once")
        prefix = query.get("table_prefix", [DEFAULT_PREFIX])[0]
        if not re.fullmatch(r"[A-Za-z0-9_.-]{0,100}", prefix):
            raise ValueError("table_prefix may have up to 100 letters, digits and _ . -")
        return cls(parts.netloc, _endpoint(query["endpoint"][0]) if "endpoint" in query else None, prefix)

    @property
    def emulated(self) -> bool:
        """AWS is spoken to over TLS; whatever has a plain http endpoint is DynamoDB Local or its like."""
        return self.endpoint is not None and self.endpoint.startswith("http://")

    def __str__(self) -> str:
        return f"{self.region} ({self.endpoint})" if self.endpoint else self.region


def _endpoint(url: str) -> str:
    parts = urlsplit(url)
    try:
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise ValueError("endpoint has to be an http:// or https:// URL with a host")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("endpoint has to be a plain URL: no user, password or query")
    return url.rstrip("/")
