"""JSON without spaces and with text as it is: what is kept of calls is written so."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import PydanticSerializationError, to_json


def compact(value: Any) -> str:
    """By pydantic's writer, which takes a fourth of the time; what that refuses, half a character for one, by Python's."""
    try:
        return to_json(value).decode()
    except PydanticSerializationError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
