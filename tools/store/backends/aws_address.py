"""Parses backend URLs that name an AWS region."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

_REGION = re.compile(r"[a-z]{2,16}(?:-[a-z]{1,16}){1,4}-[0-9]{1,4}")


def is_region(text: str) -> bool:
    return _REGION.fullmatch(text) is not None


def parameters(query: str, known: Sequence[str]) -> dict[str, str]:
    """Parses a URL's query string. Raises ValueError for a parameter that is not in `known` or is given twice."""
    given = parse_qs(query, keep_blank_values=True)
    if unknown := sorted(given.keys() - set(known)):
        raise ValueError(f"unknown parameter {unknown[0]!r}; there are {' and '.join(known)}")
    if twice := [name for name, values in given.items() if len(values) > 1]:
        raise ValueError(f"{twice[0]} is there more than once")
    return {name: values[0] for name, values in given.items()}


def endpoint_of(given: dict[str, str]) -> str | None:
    """Returns the `endpoint` parameter without trailing slashes; None if it is absent. Raises ValueError unless it is an
    http(s) URL without user, password, query and fragment."""
    url = given.get("endpoint")
    if url is None:
        return None
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


LONGEST_PREFIX = 500


@dataclass(frozen=True, slots=True)
class S3Address:
    """A parsed `s3://BUCKET[/PREFIX]?region=REGION[&endpoint=URL]`. `prefix` is empty or ends with a slash. Without
    `endpoint`, the AWS environment's is used, or else AWS's own. Credentials come from that environment, not from the
    URL."""

    bucket: str
    prefix: str
    region: str
    endpoint: str | None = None

    @classmethod
    def parse(cls, url: str) -> S3Address:
        """Parses the URL. Raises ValueError if any part of it is invalid."""
        parts = urlsplit(url)
        if parts.scheme != "s3":
            raise ValueError(f"scheme {parts.scheme!r} is not s3")
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", parts.netloc):
            raise ValueError(
                "the part after s3:// has to be a bucket, as in s3://manga-pages/previews?region=ap-northeast-1"
            )
        prefix = unquote(parts.path).strip("/")
        if len(prefix) > LONGEST_PREFIX or not prefix.isprintable() or parts.fragment:
            raise ValueError(f"after the bucket may stand a prefix of up to {LONGEST_PREFIX} characters, and no fragment")
        query = parameters(parts.query, ("region", "endpoint"))
        region = query.get("region", "")
        if not is_region(region):
            raise ValueError("needs the region of the bucket, as in ?region=ap-northeast-1")
        return cls(parts.netloc, f"{prefix}/" if prefix else "", region, endpoint_of(query))

    def __str__(self) -> str:
        where = f"{self.region}, {self.endpoint}" if self.endpoint else self.region
        return f"s3://{self.bucket}/{self.prefix} ({where})"
