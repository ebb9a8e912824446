"""An output schema as clients are told it: what there is, in few bytes.

Every conversation reads the list of tools, and clients judge results by it. The outline has all names and types of the
root and of its rows. What a row has to have, and what lies deeper, the whole schema alone says, by which results are judged
here. Whatever satisfies that satisfies the outline.
"""

from __future__ import annotations

from typing import Any

from tools.schema.parts import Json

ROW = 1
"""How deep names go: those of the root, and of what lies in it."""


def outline(schema: Any, depth: int = 0) -> Json:
    if depth > ROW and schema.get("type") == "object":
        return {"type": "object"}
    told = dict(schema)
    if "properties" in schema:
        told["properties"] = {name: outline(each, depth + 1) for name, each in schema["properties"].items()}
    if depth:
        told.pop("required", None)
    if "items" in schema:
        told["items"] = outline(schema["items"], depth)
    return told
