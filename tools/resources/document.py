"""What is read as a JSON document."""

from __future__ import annotations

import json

from tools.contract import Json, ToolContext
from tools.primitives.resource import Contents
from tools.results.content import EmbeddedText
from tools.schema.text import bounded

JSON_TYPE = "application/json"


def document(context: ToolContext, uri: str, value: Json) -> Contents:
    """One compact JSON text, bounded as results are, which says under `degraded` what it had to do without."""
    if context.degraded:
        value = value | {"degraded": sorted(context.degraded)}
    text = json.dumps(bounded(value), ensure_ascii=False, separators=(",", ":"))
    return [EmbeddedText(uri, text, JSON_TYPE)]
