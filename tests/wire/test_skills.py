"""Skills over every transport, by hand: declaration, list, contents, and digests of the bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.raw import message
from tests.support.serving import ROOT, Serving
from tests.support.transports import OVER

NAME = "io.modelcontextprotocol/skills"
GIFTS = "skill://gifts-and-children/SKILL.md"
JAPANESE = "skill://gifts-and-children/references/ja.md"
ASKED = (
    message("skills/list", number=1),
    message("skills/get", {"uri": GIFTS}, number=2),
    message("resources/read", {"uri": GIFTS}, number=3),
    message("resources/read", {"uri": JAPANESE}, number=4),
    message("skills/get", {"uri": JAPANESE}, number=5),
    message("resources/directory/read", {"uri": "skill://gifts-and-children"}, number=6),
)


def read(answer: bytes) -> Any:
    """A message, or the one message of an event stream."""
    lines = answer.decode().splitlines()
    return json.loads(
        next((line[5:] for line in reversed(lines) if line.startswith("data:") and line[5:].strip()), lines[-1])
    )


@pytest.mark.parametrize("name", list(OVER))
async def test_skills_are_listed_and_verified_over_every_transport(name: str, with_websocket: Serving, cache: Path) -> None:
    answers = await OVER[name](with_websocket, (ROOT, cache), {}, ASKED)
    hello, listed, got, english, japanese, none, directory = map(read, answers)
    assert hello["result"]["capabilities"]["extensions"] == {NAME: {}}
    assert "resources" in hello["result"]["capabilities"]
    entry = next(each for each in listed["result"]["skills"] if each["uri"] == GIFTS)
    assert got["result"]["skill"] == entry
    assert {"ttlMs", "cacheScope"} <= set(listed["result"]) & set(got["result"])
    if name == "http-2026":
        assert listed["result"]["resultType"] == got["result"]["resultType"] == "complete"
    read_files = {each["uri"]: each["text"].encode() for file in (english, japanese) for each in file["result"]["contents"]}
    described = [
        {"uri": uri, "digest": f"sha256:{hashlib.sha256(text).hexdigest()}", "size": len(text)}
        for uri, text in read_files.items()
    ]
    assert entry["resources"] == described
    assert none["error"]["code"] == -32602
    assert directory["error"]["code"] == -32601, "it is not declared"
