"""The files that settings name: the audit's, and the flags'."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from server.config.flags import Flags, FlagsError, FlagsFile
from server.config.parsing import SettingError
from server.config.settings import Settings
from server.telemetry.audit.log import AuditLog, audit_sink
from tools.registry import Registry

if TYPE_CHECKING:
    from server.runtime.background import Work


def open_audit(settings: Settings, stack: AsyncExitStack) -> AuditLog:
    """Opens it until the stack ends. Raises `SettingError` for a file that cannot be written."""
    try:
        sink = stack.enter_context(audit_sink(settings.audit_log))
    except OSError as error:
        raise SettingError(f"MANGA_AUDIT_LOG: the file cannot be written: {error.strerror}") from None
    audit = AuditLog(sink, required=settings.audit == "required")
    stack.callback(audit.close)
    return audit


def read_flags(settings: Settings, registry: Registry) -> Flags:
    """Reads what the file says; everything is on without one. Raises `SettingError` for a file that cannot be read."""
    flags = Flags()
    if path := settings.flags_file():
        try:
            FlagsFile(path, [tool.name for tool in registry], flags).load()
        except (FlagsError, OSError) as error:
            why = error if isinstance(error, FlagsError) else f"{path} cannot be read: {error.strerror}"
            raise SettingError(f"MANGA_FLAGS_URL: {why}") from None
    return flags


def flags_watch(settings: Settings, registry: Registry, flags: Flags, changed: Callable[[], Awaitable[None]]) -> Work | None:
    """Returns what keeps the flags as the file says, and tells of it when they are `changed`; None without a file."""
    path = settings.flags_file()
    if path is None:
        return None
    file = FlagsFile(path, [tool.name for tool in registry], flags)
    return lambda: file.watch(changed)
