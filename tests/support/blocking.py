"""`python -m tests.support.blocking FOLDER`: a server in this process, a conversation with it, and what blocked its event loop.

Python's audit events tell of every file that is opened, folder that is listed, name that is looked up, module that is loaded
and process that is begun, with the thread that does it. Prints those of the loop's thread from the moment the server is
ready, as JSON: event, subject and where in the project.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import sys
import threading
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from server.config.settings import ROOT, Settings
from server.flags.follower import POLL_SECONDS
from tests.support.inprocess import in_process
from tests.support.raw import INITIALIZE, call, post_2026
from tools.registry import TOOLS

EVENTS = (
    *("open", "import", "time.sleep", "subprocess.Popen", "os.system", "os.posix_spawn", "ctypes.dlopen"),
    *("os.listdir", "os.scandir", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate", "os.chmod", "glob.glob"),
    *("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo", "sqlite3.connect"),
)
IN_MEMORY = ("/proc/",)
"""What the kernel answers from memory: the process's own numbers for /metrics."""
USER = {"com.mangaassist/userId": "demo-user-1", "com.mangaassist/sessionId": "s", "com.mangaassist/turnId": "t"}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "search_manga_catalog": {"query": "dark fantasy ダーク"},
    "get_manga_details": {"title_id": "manga-000002"},
    "check_inventory": {"title_ids": ["manga-000002"]},
    "get_recommendations": {},
    "classify_genre": {"text": "dark fantasy ダーク"},
    "lookup_order": {"order_id": "MNG-DEMO1001"},
}


class Watch:
    """What this thread does that may block, while it is `on`."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[tuple[str, str, list[str]]] = []
        self._thread = threading.get_ident()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on or event not in EVENTS or threading.get_ident() != self._thread:
            return
        subject = str(arguments[0]) if arguments else ""
        if not subject.startswith(IN_MEMORY):
            self.seen.append((event, subject, list(_where())))


def _where() -> Iterator[str]:
    for frame, line in traceback.walk_stack(None):
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT) and ".venv" not in path.parts and path.name != Path(__file__).name:
            yield f"{path.relative_to(ROOT)}:{line}"


async def converse(port: int, flags: Path) -> None:
    """Every tool, rightly and wrongly, hot and cold; and long enough for what is read again every second."""
    for _ in range(2):
        for tool in TOOLS:
            await post_2026(port, call(tool.name, ARGUMENTS.get(tool.name, {})), **USER)
            await post_2026(port, call(tool.name, {"no such": "argument"}), **USER)
        await asyncio.to_thread(flags.write_text, '{"lookup_order": true}')
        await asyncio.sleep(4 * POLL_SECONDS)
    for path in ("/readyz", "/metrics", "/healthz", "/nowhere"):
        await asyncio.to_thread(_get, port, "GET", path)
    await asyncio.to_thread(_get, port, "DELETE", "/sessions/s")
    await asyncio.to_thread(_get, port, "POST", "/mcp", json.dumps(INITIALIZE))


def _get(port: int, method: str, path: str, body: str | None = None) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "X-User-ID": "u"}
    connection.request(method, path, body, headers)
    connection.getresponse().read()
    connection.close()


async def main(folder: Path) -> list[tuple[str, str, list[str]]]:
    flags = folder / "flags.json"
    flags.write_text("{}")
    settings = replace(
        Settings(), flags_url=flags.as_uri(), audit_log=folder / "audit.jsonl", data_dir=folder, log_tool_calls="all"
    )
    watch = Watch()
    async with in_process(settings=settings) as server:
        await asyncio.to_thread(_get, server.port, "GET", "/healthz")  # uvicorn loads a module when it begins to listen
        watch.on = True
        try:
            await converse(server.port, flags)
            Path(__file__).read_bytes()  # noqa: ASYNC240 - what a watch that is blind would not see
        finally:
            watch.on = False
    return watch.seen


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(Path(sys.argv[1])))))
