"""One call through the whole pipeline of an application in this process, with the embedded backends and the demo shop."""

from __future__ import annotations

import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from server.application import Application
from server.call import Call, RequestMetadata
from server.config.settings import Settings
from server.results import call_tool_result
from server.wiring import open_app


def opened(folder: Path) -> AbstractAsyncContextManager[Application]:
    """Searching by words alone, for a quick start. `folder` takes what is computed."""
    return open_app(Settings(embedder="none", data_dir=folder), local=True)


async def called(app: Application, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The `CallToolResult` of one call by the first demo customer, in one session."""
    registered = app.registry.get(tool)
    assert registered is not None, f"there is no tool {tool}"
    who = RequestMetadata(session="called", user="demo-user-1")
    call = Call("called", registered, arguments, who, time.monotonic())
    return call_tool_result(call, await app.pipeline.run(call))
