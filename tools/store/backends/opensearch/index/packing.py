"""JSON as a column keeps it: compressed, in base64."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from typing import Any

Json = dict[str, Any]


def packed(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return b64encode(zlib.compress(text.encode("utf-8", "replace"))).decode()


def unpacked(column: str) -> bytes:
    """Columns come back without the padding of their base64. Raises ValueError."""
    try:
        return zlib.decompress(b64decode(column + "=="))
    except zlib.error as error:
        raise ValueError("not packed") from error
