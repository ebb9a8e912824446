"""/ws with the clients of the SDKs' 1.x lines, and its end when the server stops."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support import installed
from tests.support.environments import python_of
from tests.support.serving import ROOT, Serving, clean_environment
from tests.support.websocket import SECONDS, call, websocket
from tools.registry import TOOLS

NAMES = [tool.name for tool in TOOLS if tool.default_on]
POLICY = "manga://policies/shipping"
DRAIN_SECONDS = 5.0


def seen(command: list[str], cache: Path, folder: Path) -> dict[str, Any]:
    """What a client prints. It has no headers to send: who calls is in `_meta`."""
    reads = json.dumps({"uris": [POLICY], "prompts": {"shopping_assistant": {}}})
    own = {"HOME": str(folder), "PYTHONPATH": str(ROOT), "READS": reads}
    environment = clean_environment(cache, own)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check(said: dict[str, Any]) -> None:
    assert said["tools"] == NAMES
    assert said["found"]["results"][0]["title_id"] == "manga-001001"
    assert said["stock"]["checked"] == "last_search"
    assert (said["wrong"][0], said["wrong"][1]["error"]["name"]) == (True, "VALIDATION_ERROR")
    assert said["order"]["order_id"] == "MNG-DEMO1001"
    assert said["unknown"]["data"]["nearest"][0] == "search_manga_catalog"
    assert said["reading"]["read"][POLICY][0][2]
    assert said["reading"]["made"]["shopping_assistant"] == ["user"]


def test_sdk_1_x_python_client_is_served_over_websocket(with_websocket: Serving, cache: Path, tmp_path: Path) -> None:
    program = [str(python_of("clients/mcp-1")), "-W", "ignore", str(installed.CLIENTS / "mcp1_client.py")]
    check(seen([*program, json.dumps([["ws", f"ws://{with_websocket.host}/ws"]])], cache, tmp_path))


def test_typescript_client_is_served_over_websocket(with_websocket: Serving, cache: Path, tmp_path: Path) -> None:
    program = installed.node().beside(installed.CLIENTS / "typescript_client.mjs")
    check(seen([*program, json.dumps([["ws", f"ws://{with_websocket.host}/ws"]])], cache, tmp_path))


async def test_stopping_server_answers_and_then_closes_with_1001(serve: Callable[..., Serving]) -> None:
    """It ends within its five seconds and exits with 0."""
    own = serve(MANGA_WEBSOCKET="on")
    async with websocket(int(own.host.rpartition(":")[2])) as client:
        await client.introduced()
        client.say(call(1, "search_manga_catalog", query="one piece"))
        assert (await client.heard())["id"] == 1
        began = time.monotonic()
        own.process.send_signal(signal.SIGTERM)
        assert await client.closed() == 1001
    status = await asyncio.to_thread(own.process.wait, SECONDS)
    assert (status, time.monotonic() - began < DRAIN_SECONDS) == (0, True), own.log[-2000:]
    assert not [word for word in ("Traceback", " ERROR ", "[accepted]") if word in own.log], own.log
