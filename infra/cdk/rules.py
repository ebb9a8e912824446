"""Checks of config values, and the task sizes that Fargate offers."""

from __future__ import annotations

from collections.abc import Mapping

from server.config.settings import PREFIX, Settings
from tools.store.identifiers import IdPattern

GIB = 1024


class ConfigError(ValueError):
    """A config value is invalid; the message names its field and the rule."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field} {problem}")


def check(holds: bool, field: str, problem: str) -> None:
    if not holds:
        raise ConfigError(field, problem)


def check_pattern(field: str, pattern: str) -> None:
    """Raises `ConfigError` if `pattern` is not valid for the server's ids."""
    try:
        IdPattern(pattern)
    except ValueError as error:
        raise ConfigError(field, str(error)) from None


FREE = (
    "workers", "tools", "adult", "turn_tokens", "result_tokens", "call_timeout_ms", "cache", "cache_ttl_s",
    "max_concurrent_calls", "max_sse_sessions", "websocket", "ops", "cover_hosts", "max_body_bytes", "rate_limit",
    "log_level", "log_tool_calls", "currency",
)  # fmt: skip
"""Server settings that a stage may choose; the others are fields of the stage, or follow from the deployment."""


def check_settings(field: str, stated: Mapping[str, str]) -> None:
    """Raises `ConfigError` for a setting that a stage may not choose, or that the server would refuse."""
    free = {f"{PREFIX}{name.upper()}" for name in FREE}
    for name in stated:
        check(name in free, f"{field}.{name}", "is none that a stage has here: " + ", ".join(sorted(free)))
    try:
        Settings.from_environment(dict(stated))
    except ValueError as error:
        raise ConfigError(field, str(error)) from None


def fargate_memory(cpu: int) -> tuple[int, ...]:
    """Returns the MiB allowed for a Linux task with `cpu` units; () if Fargate does not offer that size (AWS documentation,
    ECS Developer Guide, "Task CPU and memory")."""
    sold = {
        256: (512, GIB, 2 * GIB),
        512: tuple(range(GIB, 4 * GIB + 1, GIB)),
        1024: tuple(range(2 * GIB, 8 * GIB + 1, GIB)),
        2048: tuple(range(4 * GIB, 16 * GIB + 1, GIB)),
        4096: tuple(range(8 * GIB, 30 * GIB + 1, GIB)),
        8192: tuple(range(16 * GIB, 60 * GIB + 1, 4 * GIB)),
        16384: tuple(range(32 * GIB, 120 * GIB + 1, 8 * GIB)),
    }
    return sold.get(cpu, ())
