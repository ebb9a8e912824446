"""`python -m server flags`: which tools are on for a customer, and why, as their source says it now."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from typing import Any

from server.call import Principal
from server.commands.tools import installed_tools
from server.config.settings import Settings
from server.config.urls import shown
from server.flags.document import Document, DocumentError, parse
from server.flags.evaluation import Flags, kind
from server.flags.follower import open_source
from server.flags.sources import Unreadable

NO_SOURCE = "MANGA_FLAGS_URL is not set"


@dataclass(frozen=True, slots=True)
class Asked:
    """For whom. Scopes and client are those of a token (MANGA_AUTH=jwt)."""

    user: str | None = None
    session: str | None = None
    client: str | None = None
    scopes: Sequence[str] = ()

    def principal(self, auth: str) -> Principal:
        """Who that is where this is how callers prove themselves."""
        if auth == "jwt":
            return Principal(self.client, self.user, frozenset(self.scopes))
        return Principal("agent" if auth == "token" else None, self.user)


async def show_flags(settings: Settings, asked: Asked, *, as_json: bool) -> int:
    """Prints a table, or JSON. Exit status 1 when the source cannot be read or used: the table is then of no flags."""
    document, problem = await _document(settings.flags_url)
    principal = asked.principal(settings.auth)
    flags = Flags(document)
    registry, _ = await installed_tools(settings)
    found = {tool.name: asdict(flags.decide(tool, principal, asked.session)) for tool in registry}
    told = {
        "source": shown(settings.flags_url) if settings.flags_url else None,
        "problem": problem,
        "principal": kind(principal),
        "tools": found,
        "unknown": document.unknown([tool.flag for tool in registry]),
    }
    print(json.dumps(told, ensure_ascii=False, indent=2) if as_json else _table(told))
    return 1 if problem else 0


async def _document(url: str | None) -> tuple[Document, str | None]:
    if url is None:
        return Document(), None
    async with AsyncExitStack() as stack:
        source = await open_source(url, stack)
        try:
            return parse(await source.read() or b""), None
        except (Unreadable, DocumentError) as error:
            return Document(), str(error)


def _table(told: dict[str, Any]) -> str:
    wide = max(map(len, told["tools"]))
    rows = [
        f"{name:{wide}}  {'on ' if each['on'] else 'off'}  {each['variant']:12}  {each['why']}"
        for name, each in told["tools"].items()
    ]
    notes = [f"source: {told['source'] or NO_SOURCE}", f"caller: {told['principal']}"]
    if told["problem"]:
        kept = "a server that runs keeps to what it read last, one that starts to what the fleet has kept"
        notes.append(f"problem: {told['problem']}; {kept}")
    if told["unknown"]:
        notes.append(f"no tool of this version: {', '.join(told['unknown'])}")
    return "\n".join([*rows, "", *notes])
