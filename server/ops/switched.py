"""Flags and their shares, as far as they say anything but "on for everybody"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from server.flags.current import Flags
from server.flags.document import Flag
from tools.registry import Registry

MOST = 100
Json = dict[str, Any]
Seen = Callable[[str], float | None]
"""The share of a tool's callers that had it, None where there was nobody."""


def switched(flags: Flags, registry: Registry, source: str, seen: Seen) -> list[Json]:
    """Lists what the document names, then the tools that are off by themselves."""
    named = [_named(name, flag, source, seen) for name, flag in list(flags.document.flags.items())[:MOST]]
    off = [tool for tool in registry if not tool.default_on and tool.flag not in flags.document.flags]
    return named + [{"name": tool.flag, "kind": "off", "on_share": 0.0, "source": "the tool itself"} for tool in off]


def _named(name: str, flag: Flag, source: str, seen: Seen) -> Json:
    if not flag:
        kind, share = "off", 0.0
    elif len(flag) == 1 and not flag[0].conditions:
        kind, share = "boolean" if flag[0].rollout >= 100 else "percent", flag[0].rollout / 100
    else:
        most = max(segment.rollout for segment in flag) / 100
        found = seen(name)
        kind, share = "segments", most if found is None else found
    return {"name": name, "kind": kind, "on_share": round(share, 3), "source": source}
