"""`python -m server call TOOL JSON`: one call through the whole pipeline, for a person at a terminal."""

from __future__ import annotations

import asyncio
import json
import sys
import time
import uuid
from contextlib import suppress
from functools import partial

from server.backends import open_ports
from server.call import Call, RequestMetadata
from server.commands.errors import print_error
from server.commands.progress import progress_bar
from server.config.settings import Settings
from server.results import call_tool_result
from server.wiring import open_app

PATIENCE_SECONDS = 120
"""For the vectors of a large catalogue that was never served here; after that it is searched by words, and says so."""


async def call_once(settings: Settings, tool: str, arguments: str, user: str | None) -> int:
    """Prints the result as JSON, as a server answers that has been up for a while. Exit status 0 for a success, 1 for a
    failed call, 2 for arguments that are no JSON."""
    try:
        given = json.loads(arguments)
    except ValueError as error:
        return print_error(f"the arguments are not JSON: {error}")
    if not isinstance(given, dict):
        return print_error("the arguments have to be a JSON object")
    async with open_app(settings, local=True, ports=partial(open_ports, progress=progress_bar(sys.stderr))) as app:
        registered = app.registry.get(tool)
        if registered is None:
            return print_error(f"no tool {tool!r}; there are {', '.join(t.name for t in app.registry)}")
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await app.prepared()
        call = Call(uuid.uuid4().hex, registered, given, RequestMetadata(user=user), time.monotonic(), transport="cli")
        result = call_tool_result(call, await app.pipeline.run(call))
    print(json.dumps(result["structuredContent"], ensure_ascii=False, indent=2))
    print(json.dumps(result["_meta"], ensure_ascii=False), file=sys.stderr)
    return 1 if result["isError"] else 0
