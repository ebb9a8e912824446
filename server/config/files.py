"""Files and folders, as settings name them."""

from __future__ import annotations

import os
from pathlib import Path

from server.config.parsing import SettingError


def path(text: str) -> Path:
    try:
        return Path(text).expanduser().resolve()
    except RuntimeError:
        raise SettingError("names a home folder that does not exist") from None


def folder(text: str) -> Path:
    """Reads one that is there and can be written, or can be made. Raises `SettingError`."""
    found = path(text)
    if found.exists() and not found.is_dir():
        raise SettingError(f"{found} is a file, and has to be a folder")
    nearest = next(each for each in (found, *found.parents) if each.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise SettingError(f"nothing can be written in {nearest}")
    return found


def file_to_write(text: str) -> Path:
    """Reads a file in a folder that is there, as it is named: /dev/stderr leads to what cannot be opened by the name it
    has. Raises `SettingError`."""
    path(text)
    found = Path(text).expanduser().absolute()
    if found.is_dir():
        raise SettingError(f"{found} is a folder, and has to be a file")
    if not found.parent.is_dir():
        raise SettingError(f"there is no folder {found.parent}")
    return found


def problem_of_file(file: Path) -> str | None:
    """Tells why it cannot be read, naming it."""
    if file.is_dir():
        return f"{file} is a folder, and has to be a file"
    if not file.exists():
        return f"there is no file {file}"
    return None if os.access(file, os.R_OK) else f"{file} may not be read by this user"
