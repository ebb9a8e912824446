"""The server runs without an optional part whose folder and opening line are deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.raw import ask, call, in_2026
from tests.support.rooms import without_room
from tests.support.serving import served

SETTINGS = {"MANGA_EMBEDDER": "none", "MANGA_OPS": "on", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
LINES = {"server/ops": ("server/commands/serve.py", "open_ops"), "server/tracing": ("server/wiring.py", "open_tracing")}


@pytest.mark.parametrize("room", LINES)
async def test_server_runs_without_the_deleted_folder_of_an_optional_part(room: str, tmp_path: Path, cache: Path) -> None:
    tree = without_room(room, *LINES[room], tmp_path / "code")
    with served(tmp_path / "kept", cache, tree=tree, **SETTINGS) as serving:
        body, headers = in_2026(call("check_inventory", {"title_ids": ["manga-001001"]}))
        answer = await ask(serving.port, "POST", "/mcp", body, headers)
        page = await ask(serving.port, "GET", "/ops")
    assert answer.json()["result"]["structuredContent"]["items"]
    assert page.status == (404 if room == "server/ops" else 200)
