"""The commands `tools`, `call` and `flags`. `tools` prints the tools, including those of installed packages; `tools reload`
has the running server reload its packages. `call` calls a tool. `flags` shows which tools are on for a caller."""

from __future__ import annotations

import asyncio
import json
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict
from functools import partial
from typing import Any

from server.backends.opening import open_ports
from server.call import Call, Principal, RequestMetadata
from server.commands.errors import format_table, print_error, progress_bar
from server.config.parsing import without_query
from server.config.settings import Settings
from server.config.sources import Unreadable
from server.flags.document import Document, DocumentError, Flags, kind, parse
from server.flags.follower import open_flags_source
from server.packages.packages import IMPORT_SECONDS, NoServer, Packages, ReloadReport, ask_to_reload
from server.results import call_tool_result
from server.transport.tool_listing import listed_tool
from server.version import VERSION
from server.wiring import open_app
from tools.registry import Registered, Registry


async def load_tools(settings: Settings, import_seconds: float = IMPORT_SECONDS) -> tuple[Registry, ReloadReport]:
    """Returns the registry of all tools, including those of packages, and the report of loading the packages, each in at
    most `import_seconds`. Call it once per process: a second call would refuse the packages' modules as the server's own."""
    registry = Registry(
        version=VERSION, setting=settings.adult, text_fresh_seconds=settings.cache_ttl_s, identifiers=settings.identifiers
    )
    return registry, await Packages(registry, import_seconds).reload()


async def show_or_reload_tools(settings: Settings, action: str | None, *, as_json: bool) -> int:
    return await (_reload_tools if action else _show_tools)(settings, as_json=as_json)


async def _show_tools(settings: Settings, *, as_json: bool) -> int:
    """Prints a table, or the JSON of `tools/list` with every tool on. Returns exit status 1 if a package was refused."""
    registry, report = await load_tools(settings)
    found = registry.all()
    if as_json:
        print(json.dumps({"tools": [listed_tool(each.tool) for each in found]}, ensure_ascii=False, indent=2))
    else:
        header = ("tool", "version", "from", "by itself", "timeout", "cache", "fallback")
        print(format_table([header, *map(_describe_tool, found)]))
    return 0 if report.well else 1


def _describe_tool(each: Registered) -> Sequence[str]:
    tool, cache = each.tool, "never"
    if tool.cache is not None:
        cache = f"{tool.cache.fresh_seconds} s{', per user' if tool.cache.per_user else ''}"
    source, default = each.package or "built in", "on" if tool.default_on else "off"
    fallback = tool.fallback.name if tool.fallback else "none"
    return tool.name, each.version, source, default, f"{tool.timeout_ms} ms", cache, fallback


async def call_once(settings: Settings, tool: str, arguments: str, user: str | None) -> int:
    """Waits until all data has loaded, at most two minutes, then calls a tool and prints the result as JSON. Returns exit
    status 0 for success, 1 for a failed call, and 2 for an unknown tool or for arguments that are not a JSON object."""
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
            # Waits for the vectors of a large catalogue that was never served here; after a timeout searches match
            # words only, and say so
            async with asyncio.timeout(120):
                await app.ports.prepared()
        call = Call(uuid.uuid4().hex, registered, given, RequestMetadata(user=user), time.monotonic(), transport="cli")
        result = call_tool_result(call, await app.pipeline.run(call))
    print(json.dumps(result["structuredContent"], ensure_ascii=False, indent=2))
    print(json.dumps(result["_meta"], ensure_ascii=False), file=sys.stderr)
    return 1 if result["isError"] else 0


async def _reload_tools(settings: Settings, *, as_json: bool) -> int:
    """Has the running server reload its packages. Returns exit status 1 if one was refused or no server answered."""
    try:
        report = await ask_to_reload(settings.host, settings.port)
    except TimeoutError:
        return print_error("the server has not answered; it may still be loading its packages: see its log", 1)
    except NoServer as error:
        where = f"{settings.host}:{settings.port}"
        return print_error(f"no server of this user at {where} (MANGA_HOST, MANGA_PORT): nobody answers at {error}", 1)
    print(json.dumps(asdict(report), ensure_ascii=False, indent=2) if as_json else report)
    return 0 if report.well else 1


async def show_flags(
    settings: Settings, user: str | None, session: str | None, client: str | None, scope: Sequence[str], *, as_json: bool
) -> int:
    """Prints which tools are on for a caller, as a table or JSON. `client` and the list `scope` are those of a JWT. If the
    document cannot be read or parsed, prints the decisions without flags and returns exit status 1, else 0."""
    document, problem = await _read_flags(settings.flags_url)
    if settings.auth == "jwt":
        principal = Principal(client, user, frozenset(scope))
    else:
        principal = Principal("agent" if settings.auth == "token" else None, user)
    flags = Flags(document)
    registry, _ = await load_tools(settings)
    report = {
        "source": without_query(settings.flags_url) if settings.flags_url else None,
        "problem": problem,
        "principal": kind(principal),
        "tools": {tool.name: asdict(flags.decide(tool, principal, session)) for tool in registry},
        "unknown": document.unknown([tool.name for tool in registry]),
    }
    print(json.dumps(report, ensure_ascii=False, indent=2) if as_json else _format_decisions(report))
    return 1 if problem else 0


async def _read_flags(url: str | None) -> tuple[Document, str | None]:
    if url is None:
        return Document(), None
    async with AsyncExitStack() as stack:
        try:
            return parse(await open_flags_source(url, stack).read()), None
        except (Unreadable, DocumentError) as error:
            return Document(), str(error)


def _format_decisions(report: dict[str, Any]) -> str:
    rows = [(name, "on" if each["on"] else "off", each["variant"], each["why"]) for name, each in report["tools"].items()]
    notes = [f"source: {report['source'] or 'MANGA_FLAGS_URL is not set'}", f"caller: {report['principal']}"]
    if report["problem"]:
        kept = "a running server keeps its last version, a starting one uses the fleet's"
        notes.append(f"problem: {report['problem']}; {kept}")
    if report["unknown"]:
        notes.append(f"no tool of this version: {', '.join(report['unknown'])}")
    return "\n".join([format_table(rows), "", *notes])
