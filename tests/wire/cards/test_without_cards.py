"""A client without cards gets the same bytes as from a server that has no cards."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.cards import DECLARED, JUNK, NAME
from tests.support.raw import Json, call, message
from tests.support.serving import ROOT, Serving
from tests.support.transports import OVER

SAYS: dict[str, Json] = {
    "tools/list": message("tools/list", number=1),
    "resources/list": message("resources/list", number=2),
    "resources/templates/list": message("resources/templates/list", number=3),
    "prompts/list": message("prompts/list", number=4),
    "a result": call("get_manga_details", {"title_id": "manga-001001"}, number=5),
    "stock": call("check_inventory", {"title_ids": ["manga-001001"]}, number=6),
    "a failure": call("get_manga_details", {"title_id": "manga-999999"}, number=7),
    "no tool": call("no_tool", {}, number=8),
}
ASKED = tuple(SAYS.values())
VARIES = re.compile(
    rb'\\?"(?:callId|request_id)\\?":\\?"[0-9a-f]+\\?"|\\?"(?:latencyMs|remainingMs)\\?":[0-9.]+|'
    rb'\\?"(?:asOf|as_of)\\?":\\?"[^"\\]+\\?"|\\?"source\\?":\\?"(?:live|cache)\\?"|"degraded":\[[^\]]*\]'
)
"""What differs from call to call, with and without cards."""


def fixed(answer: bytes) -> bytes:
    return VARIES.sub(b"", answer)


@pytest.mark.parametrize("name", list(OVER))
async def test_client_without_cards_gets_the_same_bytes_as_from_a_server_without_cards(
    name: str, whole: Serving, bare: Serving, bare_tree: Path, cache: Path
) -> None:
    now, before = await OVER[name](whole, (ROOT, cache), {}, ASKED), await OVER[name](bare, (bare_tree, cache), {}, ASKED)
    assert len(now) == 1 + len(SAYS)
    for what, one, other in zip(("hello", *SAYS), now, before, strict=True):
        assert fixed(one) == fixed(other), what
        assert b"ui://" not in one


@pytest.mark.parametrize("name", [name for name in OVER if name != "stdio"])
async def test_server_without_the_cards_folder_ignores_declared_cards(
    name: str, bare: Serving, bare_tree: Path, cache: Path
) -> None:
    told = await OVER[name](bare, (bare_tree, cache), {"extensions": {NAME: DECLARED}}, ASKED)
    plain = await OVER[name](bare, (bare_tree, cache), {}, ASKED)
    assert list(map(fixed, told)) == list(map(fixed, plain))


@pytest.mark.parametrize("name", ["http-2025", "sse", "websocket"])
@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK.keys())
async def test_malformed_card_declaration_is_ignored(name: str, junk: Any, whole: Serving, cache: Path) -> None:
    """A handshake's capabilities are trimmed to the understood ones before anything reads them."""
    told, plain = (
        await OVER[name](whole, (ROOT, cache), {"extensions": {NAME: junk}}, ASKED),
        await OVER[name](whole, (ROOT, cache), {}, ASKED),
    )
    assert list(map(fixed, told)) == list(map(fixed, plain))


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK.keys())
async def test_malformed_card_declaration_of_2026_is_ignored_or_refused_by_the_protocol(
    junk: Any, whole: Serving, cache: Path
) -> None:
    """In the 2026 era the settings of an extension have to be an object."""
    told, plain = (
        await OVER["http-2026"](whole, (ROOT, cache), {"extensions": {NAME: junk}}, ASKED),
        await OVER["http-2026"](whole, (ROOT, cache), {}, ASKED),
    )
    if isinstance(junk, dict):
        assert list(map(fixed, told)) == list(map(fixed, plain))
    else:
        assert {json.loads(each)["error"]["code"] for each in told} == {-32602}
