"""Bodies that hold too much, or just not: what is cheap to send and dear to read."""

from __future__ import annotations

import random
from typing import Any

from server.transport.messages import DEEPEST, MOST_VALUES

MARK = "a shape of its own"
"""A text in whose place a body takes a shape that no encoder would write."""
SIZES = [3, 60, MOST_VALUES - 40, MOST_VALUES, 4 * MOST_VALUES, 300 * MOST_VALUES]
LONGEST = 2**20
DEPTHS = [3, DEEPEST - 4, DEEPEST, 2 * DEEPEST, 5_000, 50_000]


def shape(chance: random.Random) -> bytes:
    """One JSON value, or the beginning of one that has no end."""
    size, depth = chance.choice(SIZES), chance.choice(DEPTHS)
    return chance.choice(
        [
            lambda: b"[" + b",".join([b"[]"] * size) + b"]",
            lambda: b"[" + b",".join([b'""'] * size) + b"]",
            lambda: b"{" + b",".join(b'"%d":{}' % each for each in range(size)) + b"}",
            lambda: b"{" + b",".join([b'"same":1'] * size) + b"}",
            lambda: b'{"' + b"k" * min(60 * size, LONGEST) + b'":1}',
            lambda: b'"' + b'\\"[,{\\\\' * size + b'"',
            lambda: b"[" * depth + b"]" * depth,
            lambda: b'{"a":' * depth + b"1" + b"}" * depth,
            lambda: b"[" * depth,
            lambda: b"9" * min(20 * size, LONGEST),
            lambda: b"[" + b",".join([b"1e999"] * size) + b"]",
            lambda: b"-0." + b"1" * min(20 * size, LONGEST),
        ]
    )()


def shaped(chance: random.Random, number: int, era: str) -> dict[str, Any]:
    """A message with a place for a shape: where the SDK builds models, where a session keeps it, where handlers look."""
    capabilities = {"experimental": {"x": {"y": MARK}}}
    client = {"name": "fuzz", "version": "1"}
    method, params = chance.choice(
        [
            ("tools/list", {"_meta": {"io.modelcontextprotocol/clientCapabilities": capabilities}}),
            ("tools/list", {"_meta": MARK}),
            ("tools/list", {"cursor": MARK}),
            ("initialize", {"protocolVersion": era, "capabilities": capabilities, "clientInfo": client}),
            ("initialize", {"protocolVersion": era, "capabilities": {}, "clientInfo": {**client, "icons": MARK}}),
            ("initialize", {"protocolVersion": MARK, "capabilities": MARK, "clientInfo": MARK}),
            ("tools/call", {"name": "get_manga_details", "arguments": {"title_id": MARK}}),
            ("tools/call", {"name": "check_inventory", "arguments": {"title_ids": MARK}}),
            ("tools/call", {"name": "check_inventory", "arguments": MARK}),
            ("tools/call", {"name": MARK, "arguments": {}, "_meta": {"progressToken": MARK}}),
            ("notifications/cancelled", {"requestId": MARK, "reason": MARK}),
            ("notifications/progress", {"progressToken": MARK, "progress": MARK}),
            (MARK, {}),
        ]
    )
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    if method.startswith("notifications/"):
        del message["id"]
    return message
