"""One server for a module's bad input, and a look at its log when the module is through with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.serving import Serving, served
from tools.registry import TOOLS


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Words alone, no rate limit, every tool on. Whatever it was sent, its log shows no error and no traceback."""
    folder: Path = tmp_path_factory.mktemp("fuzz")
    flags = folder / "flags.json"
    flags.write_text(json.dumps({tool.name: True for tool in TOOLS}), "utf-8")
    settings = {"MANGA_EMBEDDER": "none", "MANGA_LOG_TOOL_CALLS": "off", "MANGA_FLAGS_URL": f"file:{flags}"}
    with served(folder, folder / "cache", **settings) as serving:
        yield serving
        wrong = [line for line in serving.log.splitlines() if " ERROR " in line or "Traceback" in line]
        assert wrong == [], serving.log[-6000:]


@pytest.fixture(scope="module")
def port(server: Serving) -> int:
    return int(server.url.rpartition(":")[2])
