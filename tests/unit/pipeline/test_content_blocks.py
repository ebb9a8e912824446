"""What a tool returns beside its result becomes MCP content blocks."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

import mcp_types as types
from mcp_types.methods import serialize_server_result

from server.call import Call, Outcome, RequestMetadata
from server.results import MOST_CONTENT_BYTES, TOO_LARGE, call_tool_result, content_blocks
from tests.support.cases import cases
from tests.support.pipeline import registered
from tools.results.content import Audio, Content, EmbeddedBlob, EmbeddedText, Image, Text

ONE_OF_EACH: tuple[Content, ...] = (
    Text("more"),
    Image(b"\x89PNG", "image/png", "A cat on a roof."),
    Audio(b"RIFF", "audio/wav"),
    EmbeddedText("manga://policies/returns", "Fourteen days.", "text/plain"),
    EmbeddedBlob("manga://covers/1", b"\x00\xff", "image/webp"),
)


def a_call() -> Call:
    return Call("call-1", registered("get_manga_details"), {}, RequestMetadata(), 0.0)


def test_each_content_kind_becomes_its_mcp_block_with_its_bytes_unchanged() -> None:
    text, image, audio, resource, blob = content_blocks(ONE_OF_EACH)
    assert (text["type"], text["text"]) == ("text", "more")
    assert (image["type"], image["mimeType"], b64decode(image["data"])) == ("image", "image/png", b"\x89PNG")
    assert (audio["type"], audio["mimeType"], b64decode(audio["data"])) == ("audio", "audio/wav", b"RIFF")
    assert resource["resource"] == {
        "uri": "manga://policies/returns",
        "mimeType": "text/plain",
        "text": "Fourteen days.",
    }
    assert b64decode(blob["resource"]["blob"]) == b"\x00\xff"


def test_image_block_has_its_alternative_text_and_every_block_is_marked_untrusted() -> None:
    blocks = content_blocks(ONE_OF_EACH)
    assert blocks[1]["_meta"]["com.mangaassist/alt"] == "A cat on a roof."
    assert all(block["_meta"]["com.mangaassist/untrusted"] for block in blocks)
    assert blocks[1]["annotations"] == {"audience": ["user", "assistant"]}


def test_invisible_characters_are_removed_from_content_blocks() -> None:
    hidden = "a\u200bb\U000e0041"
    text, image, resource = content_blocks([Text(hidden), Image(b"", "image/png", hidden), EmbeddedText("x:y", hidden)])
    assert (text["text"], image["_meta"]["com.mangaassist/alt"], resource["resource"]["text"]) == ("ab", "ab", "ab")


@cases("version", ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"])
def test_content_blocks_are_serialized_in_every_protocol_version(version: str) -> None:
    result = call_tool_result(a_call(), Outcome({"title": "x"}, content=ONE_OF_EACH))
    sent = serialize_server_result("tools/call", version, result)
    kinds = [block["type"] for block in types.CallToolResult.model_validate(sent).model_dump()["content"]]
    assert kinds == ["text", "text", "image", "audio", "resource", "resource"]


def test_result_with_content_keeps_its_json_in_the_first_block_and_in_structured_content() -> None:
    result = call_tool_result(a_call(), Outcome({"title": "x"}, content=ONE_OF_EACH))
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"] == {"title": "x"}


def test_content_beyond_the_size_limit_is_left_out_with_a_note() -> None:
    large = Image(bytes(MOST_CONTENT_BYTES), "image/png", "large")
    assert len(content_blocks([large])) == 1
    outcome = Outcome({"title": "x"}, content=(Text("small"), large, Text("after")))
    result: dict[str, Any] = call_tool_result(a_call(), outcome)
    assert [block["text"] for block in result["content"][1:]] == ["small", "after"]
    assert result["structuredContent"]["note"] == TOO_LARGE


def test_repr_of_content_shows_no_bytes() -> None:
    assert all(b"\x89" not in repr(each).encode("latin-1") and "\\x" not in repr(each) for each in ONE_OF_EACH)
