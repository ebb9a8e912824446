"""The file of MANGA_AUDIT_LOG."""

from __future__ import annotations

from contextlib import AsyncExitStack

from server.config.parsing import SettingError
from server.config.settings import Settings
from server.telemetry.audit.log import AuditLog, audit_sink


def open_audit(settings: Settings, stack: AsyncExitStack) -> AuditLog:
    """Opens it until the stack ends. Raises `SettingError` for a file that cannot be written."""
    try:
        sink = stack.enter_context(audit_sink(settings.audit_log))
    except OSError as error:
        raise SettingError(f"MANGA_AUDIT_LOG: the file cannot be written: {error.strerror}") from None
    audit = AuditLog(sink, required=settings.audit == "required")
    stack.callback(audit.close)
    return audit
