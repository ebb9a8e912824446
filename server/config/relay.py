"""MANGA_RELAY: by which way processes pass requests on to one another."""

from __future__ import annotations

from urllib.parse import urlsplit

from server.config.parsing import SettingError

AUTO = "auto"
LONGEST_FOLDER = 80
"""Of a Unix socket's path Linux takes 107 bytes; the name of a process is part of it."""


def relay(text: str) -> str:
    """Reads it. Raises `SettingError`."""
    if text in (AUTO, "off"):
        return text
    parts = urlsplit(text)
    if parts.scheme != "unix" or parts.netloc or not parts.path.startswith("/") or parts.query:
        raise SettingError("has to be auto, off or a folder, as in unix:///run/manga")
    if len(parts.path.encode()) > LONGEST_FOLDER:
        raise SettingError(f"names a folder whose path has more than {LONGEST_FOLDER} bytes")
    return text
