"""What a tool gave beside its result, as MCP's content blocks.

Base64 stays on the loop: it holds the interpreter's lock, so that a thread would not spare anybody its time, which is 1 ms
for all that one result may carry.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import Any

from tools.results.content import Audio, Content, EmbeddedBlob, EmbeddedText, Image, Text
from tools.schema.text import visible

Json = dict[str, Any]
MOST_BYTES = 640 * 1024
"""Of all blocks of one result, before base64 makes a third more of them."""
UNTRUSTED = "com.mangaassist/untrusted"
ALT = "com.mangaassist/alt"
FROM_ELSEWHERE: Json = {"annotations": {"audience": ["assistant"]}, "_meta": {UNTRUSTED: True}}
"""Marks text that others wrote: for the model to read as data, and for an agent to keep from being obeyed. MCP's annotations
have no word of their own for it."""
FOR_BOTH: Json = {"annotations": {"audience": ["user", "assistant"]}, "_meta": {UNTRUSTED: True}}
"""The same for what a customer is to see or hear."""


def within_bounds(content: Iterable[Content]) -> tuple[Content, ...]:
    """Those that fit, in order: one that is too large leaves room for those after it."""
    kept, room = [], MOST_BYTES
    for each in content:
        if (size := each.size) <= room:
            kept.append(each)
            room -= size
    return tuple(kept)


def content_blocks(content: Sequence[Content]) -> list[Json]:
    """One block each. MCP has no place for an image's alternative text, so that it stands in the block's `_meta`."""
    return [_block(each) for each in content]


def _block(content: Content) -> Json:
    match content:
        case Text(text):
            return {"type": "text", "text": visible(text), **FROM_ELSEWHERE}
        case Image(data, media_type, alt):
            image = {"type": "image", "data": _base64(data), "mimeType": media_type, **FOR_BOTH}
            return image | {"_meta": FOR_BOTH["_meta"] | {ALT: visible(alt)}}
        case Audio(data, media_type):
            return {"type": "audio", "data": _base64(data), "mimeType": media_type, **FOR_BOTH}
        case EmbeddedText(uri, text, media_type):
            return _resource({"uri": uri, "mimeType": media_type, "text": visible(text)})
        case EmbeddedBlob(uri, data, media_type):
            return _resource({"uri": uri, "mimeType": media_type, "blob": _base64(data)})


def _resource(resource: Json) -> Json:
    return {"type": "resource", "resource": resource, **FOR_BOTH}


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")
