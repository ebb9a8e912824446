"""The bearer token of a request (RFC 6750, section 2.1)."""

from __future__ import annotations

from collections.abc import Mapping


def bearer_of(headers: Mapping[str, str]) -> str | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None
