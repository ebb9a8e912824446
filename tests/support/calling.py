"""One call through the whole pipeline of an application in this process, with the embedded backends and the demo shop."""

from __future__ import annotations

import time
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from server.application import Application
from server.call import Call, RequestMetadata
from server.config.settings import Settings
from server.results import call_tool_result
from server.wiring import open_app

PATIENCE_MS = 30_000


def opened(folder: Path, **settings: Any) -> AbstractAsyncContextManager[Application]:
    """Searching by words alone, for a quick start. `folder` takes what is computed. What is answered is asked for here, and
    not how soon: a turn has half a minute on a busy machine."""
    patient = {"turn_budget_ms": PATIENCE_MS, "call_timeout_ms": PATIENCE_MS}
    return open_app(Settings(embedder="none", data_dir=folder, **{**patient, **settings}), local=True)


async def called(app: Application, tool: str, arguments: dict[str, Any], **stated: Any) -> dict[str, Any]:
    """The `CallToolResult` of one call by the first demo customer, in one session, unless it is `stated` otherwise."""
    registered = app.registry.get(tool)
    assert registered is not None, f"there is no tool {tool}"
    who = RequestMetadata(**({"session": "called", "user": "demo-user-1"} | stated))
    patient = replace(registered, tool=replace(registered.tool, timeout_ms=PATIENCE_MS))
    call = Call("called", patient, arguments, who, time.monotonic())
    return call_tool_result(call, await app.pipeline.run(call))
