"""JSON of a token, read in one way only: what another reader could take for something else is refused (RFC 8725, 2.4)."""

from __future__ import annotations

import json
from typing import Any

from server.identity.identifier import Unproven

Json = dict[str, Any]


def strict_json(data: bytes) -> Json:
    """Reads an object with each name once, in UTF-8, with finite numbers. Raises `Unproven`."""
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_each_name_once, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise Unproven("The token's JSON is malformed.") from None
    if not isinstance(value, dict):
        raise Unproven("The token's JSON is no object.")
    return value


def _each_name_once(pairs: list[tuple[str, Any]]) -> Json:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name comes twice")
    return value


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
