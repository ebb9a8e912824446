"""The result of a call as bytes, made once: its text is the JSON of its structure, and so stands in both places as it is.

What a version of the protocol lets pass of a result, and in which order, is the SDK's word: it is asked once for each
version, with marks in place of what differs from call to call.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from mcp_types.methods import serialize_server_result
from pydantic_core import to_json

from server.content_blocks import FROM_ELSEWHERE

Json = dict[str, Any]
METHOD = "tools/call"
TEXT, STRUCTURE, META = "manga-mark-text", "manga-mark-structure", "manga-mark-meta"
MARKS = re.compile(f'("{TEXT}"|"{STRUCTURE}":0|"{META}":0)'.encode())


def written(version: str, result: Json) -> bytes:
    """Writes it for a client of this version. `result` is what `server.results` makes: its first block's text is
    its structure, written. Raises what the SDK raises for a result that is none."""
    block, *beside = result["content"]
    if beside:
        return to_json(serialize_server_result(METHOD, version, result))
    text: str = block["text"]
    gaps = {TEXT: to_json(text), STRUCTURE: text[1:-1].encode(), META: to_json(result["_meta"])[1:-1]}
    return b"".join([gaps[part] if isinstance(part, str) else part for part in _frame(version, result["isError"])])


@lru_cache(maxsize=32)
def _frame(version: str, failed: bool) -> tuple[bytes | str, ...]:
    """What is the same in every result, with the marks' names where there is something to fill in."""
    block: Json = {"type": "text", "text": TEXT} | ({} if failed else FROM_ELSEWHERE)
    result = {"resultType": "complete", "content": [block], "structuredContent": {STRUCTURE: 0}, "isError": failed}
    frame = to_json(serialize_server_result(METHOD, version, result | {"_meta": {META: 0}}))
    return tuple(_mark(part) for part in MARKS.split(frame))


def _mark(part: bytes) -> bytes | str:
    return part.split(b'"')[1].decode() if MARKS.fullmatch(part) else part
