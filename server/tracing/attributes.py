"""What a span says, in the names of OpenTelemetry's semantic conventions: MCP and GenAI (in development, as of late 2026),
databases and errors (stable). What they have no name for begins with `manga.`.

Nothing personal is in it, no words of a question, and no address: arguments, users and URIs stay out, and so do sessions and
turns. Their names are the agent's choice; a hash of one that can be guessed names it all the same, to whoever gets the
spans. The trace itself is what a turn's calls have in common, and `manga.call_id` leads to the log.
"""

from __future__ import annotations

from collections.abc import Mapping

from server.telemetry.events import CallFinished
from session.resilience.timeline import OK, Interval

Value = str | int | float | bool | tuple[str, ...]
Attributes = dict[str, Value]
READS = {"resource": "resources/read", "prompt": "prompts/get", "completion": "completion/complete"}
"""What is read or completed goes the way of a call, under a name of two words."""
TOOL_ERROR = "tool_error"
PIPES = frozenset(("stdio", "cli"))
REDIS = "redis"


def method_and_target(name: str) -> tuple[str, str | None]:
    """The method of MCP, and the target that the name of its span has: a tool or a prompt, never an address."""
    kind, _, rest = name.partition(" ")
    if not rest:
        return "tools/call", name
    return READS[kind], rest if kind == "prompt" else None


def of_call(event: CallFinished) -> Attributes:
    method, target = method_and_target(event.tool)
    attributes: Attributes = {
        "mcp.method.name": method,
        "network.transport": "pipe" if event.transport in PIPES else "tcp",
        "manga.transport": event.transport,
        "manga.call_id": event.call_id,
        "manga.outcome": event.outcome,
        "manga.degraded": event.degraded,
    }
    if method == "tools/call":
        attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": event.tool}
    elif target is not None:
        attributes["gen_ai.prompt.name"] = target
    if event.outcome != OK:
        attributes["error.type"] = "cancelled" if event.outcome == "cancelled" else TOOL_ERROR
    known: dict[str, Value | None] = {
        "manga.source": event.source,
        "manga.fallback": event.fallback,
        "manga.budget_left_ms": event.budget_left_ms,
        "manga.variant": event.variant,
    }
    return attributes | {name: value for name, value in known.items() if value is not None}


def of_interval(interval: Interval, systems: Mapping[str, str]) -> Attributes:
    """`systems` are the databases behind the backends, by the backend's name."""
    attributes: Attributes = {} if interval.outcome == OK else {"error.type": interval.outcome}
    noted = dict(interval.attributes)
    if interval.kind == "redis":
        attributes |= {"db.system.name": REDIS, "db.operation.name": interval.name}
    elif interval.kind == "attempt":
        attributes |= {"manga.backend": interval.name, "db.operation.name": str(noted.pop("operation", ""))}
        if (system := systems.get(interval.name)) is not None:
            attributes["db.system.name"] = system
    return attributes | {f"manga.{name}": value for name, value in noted.items()}


def name_of(interval: Interval) -> str:
    """Of few names, as conventions want it: what is done, and what it is done to."""
    if interval.kind == "attempt":
        return f"{interval.attributes.get('operation', interval.kind)} {interval.name}"
    if interval.kind == "redis":
        return f"{interval.name} {REDIS}"
    return f"{interval.kind} {interval.name}"
