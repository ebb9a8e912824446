"""A serialized result equals that of the SDK in every protocol version."""

from __future__ import annotations

from typing import Any

from mcp_types.methods import serialize_server_result
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic_core import to_json

from server.results import UNTRUSTED_TEXT, compact
from server.transport.mcp import TEXT, serialize_result
from tests.support.cases import cases

VALUES: list[dict[str, Any]] = [
    {"title": '進撃の巨人 "quoted" \\ and\nlines', "price_jpy": None, "nested": [{"a": []}, 1.5, True], TEXT: TEXT},
    {},
    {"error": {"code": -32001, "name": "TIMEOUT", "message": "late", "data": {"details": {}}}},
]
BESIDE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
META = {"com.mangaassist/call": {"callId": "1", "degraded": [], "budget": {"turnId": None, "totalMs": 3000}}}


@cases("version", [*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS])
@cases("beside", [[], [BESIDE]])
@cases("value", VALUES)
def test_serialized_result_equals_that_of_the_sdk(version: str, value: dict[str, Any], beside: list[dict[str, Any]]) -> None:
    failed = "error" in value
    block = {"type": "text", "text": compact(value)} | ({} if failed else UNTRUSTED_TEXT)
    result = {
        "resultType": "complete",
        "content": [block, *beside],
        "structuredContent": value,
        "isError": failed,
        "_meta": META,
    }
    assert serialize_result(version, result) == to_json(serialize_server_result("tools/call", version, result))
