"""How one process tells the others of a change: a few words of JSON, with nothing in them about anybody but a hash."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mcp.server.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ServerEvent, ToolsListChanged

from server.transport.changes.events import OwnUpdated

LARGEST_BYTES = 2048
LISTS: Mapping[str, ServerEvent] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}


def write(event: ServerEvent, sender: str) -> bytes:
    """`sender` is the process's own name, by which it knows its messages again."""
    return json.dumps({"from": sender, **_told(event)}, ensure_ascii=False).encode("utf-8", "replace")


def _told(event: ServerEvent) -> dict[str, str]:
    if isinstance(event, OwnUpdated):
        return {"resource": event.uri, "owner": event.owner}
    return {"resource": event.uri} if isinstance(event, ResourceUpdated) else {"list": _name(event)}


def read(message: bytes, own: str) -> ServerEvent | None:
    """Returns None for what this process has said itself, and for anything that is not of this form, whoever wrote it."""
    if len(message) > LARGEST_BYTES:
        return None
    try:
        told = json.loads(message)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or told.get("from") == own:
        return None
    listed, uri = told.get("list"), told.get("resource")
    if isinstance(uri, str) and "owner" in told:
        return OwnUpdated(uri, told["owner"]) if isinstance(told["owner"], str) else None
    if isinstance(uri, str):
        return ResourceUpdated(uri)
    return LISTS.get(listed) if isinstance(listed, str) else None


def _name(event: ServerEvent) -> str:
    return next(name for name, each in LISTS.items() if each == event)
