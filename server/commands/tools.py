"""`python -m server tools`: which tools there are, those of installed packages included; and their schemas, for whoever
registers them without asking a server."""

from __future__ import annotations

import json
from collections.abc import Sequence

from server.commands.installed_tools import installed_tools
from server.config.settings import Settings
from server.transport.tool_listing import listed_tool
from tools.contract import CachePolicy
from tools.registry import Registered

HEAD = ("tool", "version", "from", "by itself", "timeout", "cache", "fallback")


async def show_tools(settings: Settings, *, as_json: bool) -> int:
    """Prints a table, or the schemas as `tools/list` has them where every tool is on. Exit status 1 when a package was
    refused: the tools of the others are there all the same."""
    registry, report = await installed_tools(settings)
    found = registry.all()
    if as_json:
        print(json.dumps({"tools": [listed_tool(each.tool) for each in found]}, ensure_ascii=False, indent=2))
    else:
        print(_table([HEAD, *map(_row, found)]))
    return 0 if report.well else 1


def _row(each: Registered) -> tuple[str, ...]:
    tool = each.tool
    fallback = tool.fallback.name if tool.fallback else "none"
    return (
        *(tool.name, each.version, each.package or "built in", "on" if tool.default_on else "off"),
        *(f"{tool.timeout_ms} ms", _told(tool.cache), fallback),
    )


def _told(cache: CachePolicy | None) -> str:
    if cache is None:
        return "never"
    return f"{cache.fresh_seconds} s{', per user' if cache.per_user else ''}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
