"""What the addresses of AWS services have in common: regions, parameters, and endpoints of emulators and private links."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import parse_qs, urlsplit

_REGION = re.compile(r"[a-z]{2,}(-[a-z]+)+-[0-9]+")


def is_region(text: str) -> bool:
    return _REGION.fullmatch(text) is not None


def parameters(query: str, known: Sequence[str]) -> dict[str, str]:
    """The parameters of an address, each there once. Raises ValueError, naming what is wrong."""
    given = parse_qs(query, keep_blank_values=True)
    if unknown := sorted(given.keys() - set(known)):
        raise ValueError(f"unknown parameter {unknown[0]!r}; there are {' and '.join(known)}")
    if twice := [name for name, values in given.items() if len(values) > 1]:
        raise ValueError(f"{twice[0]} is there more than once")
    return {name: values[0] for name, values in given.items()}


def endpoint_of(given: dict[str, str]) -> str | None:
    """The endpoint among the parameters, if one is named. Raises ValueError for what is no plain URL."""
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
