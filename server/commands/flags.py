"""`python -m server flags`: shows which tools are on for a customer, and why, by the current flags document."""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Any

from server.call import Principal
from server.commands.tools import load_tools
from server.config.parsing import without_query
from server.config.settings import Settings
from server.config.sources import Unreadable
from server.flags.document import Document, DocumentError, Flags, kind, parse
from server.flags.follower import open_flags_source


async def show_flags(settings: Settings, asked: Namespace) -> int:
    """Prints a table, or JSON, for the user, session, client and scopes in `asked`. If the document cannot be read or
    parsed, prints the decisions without flags and returns exit status 1, else 0."""
    document, problem = await _read_document(settings.flags_url)
    if settings.auth == "jwt":
        principal = Principal(asked.client, asked.user, frozenset(asked.scope))
    else:
        principal = Principal("agent" if settings.auth == "token" else None, asked.user)
    flags = Flags(document)
    registry, _ = await load_tools(settings)
    report = {
        "source": without_query(settings.flags_url) if settings.flags_url else None,
        "problem": problem,
        "principal": kind(principal),
        "tools": {tool.name: asdict(flags.decide(tool, principal, asked.session)) for tool in registry},
        "unknown": document.unknown([tool.flag for tool in registry]),
    }
    print(json.dumps(report, ensure_ascii=False, indent=2) if asked.json else _table(report))
    return 1 if problem else 0


async def _read_document(url: str | None) -> tuple[Document, str | None]:
    if url is None:
        return Document(), None
    async with AsyncExitStack() as stack:
        source = open_flags_source(url, stack)
        try:
            return parse(await source.read()), None
        except (Unreadable, DocumentError) as error:
            return Document(), str(error)


def _table(report: dict[str, Any]) -> str:
    width = max(map(len, report["tools"]))
    rows = [
        f"{name:{width}}  {'on ' if each['on'] else 'off'}  {each['variant']:12}  {each['why']}"
        for name, each in report["tools"].items()
    ]
    notes = [f"source: {report['source'] or 'MANGA_FLAGS_URL is not set'}", f"caller: {report['principal']}"]
    if report["problem"]:
        kept = "a running server keeps its last version, a starting one uses the fleet's"
        notes.append(f"problem: {report['problem']}; {kept}")
    if report["unknown"]:
        notes.append(f"no tool of this version: {', '.join(report['unknown'])}")
    return "\n".join([*rows, "", *notes])
