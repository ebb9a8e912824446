"""How the files and folders of the settings are examined: as the server will use them, without changing any."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryFile

from server.config.flags import Flags, FlagsError, FlagsFile
from session.resilience.diagnosis import DEGRADED, OK, Diagnosis, Problem
from tools.registry import TOOLS

LEAST_FREE_BYTES = 64 * 2**20


def flags(path: Path) -> Diagnosis:
    found = Flags()
    try:
        FlagsFile(path, [tool.name for tool in TOOLS], found).load()
    except FlagsError as error:
        return Diagnosis.of(Problem(str(error), "correct the file; a running server keeps to what it read last"))
    except OSError as error:
        return Diagnosis.of(
            Problem(f"it cannot be read: {error.strerror}", "check MANGA_FLAGS_URL, and the file's owner and mode")
        )
    changed = [f"{name} {percent:g} %" for name, percent in found.percents.items() if percent < 100]
    return Diagnosis(OK, ", ".join(changed) or "every tool is on for everyone")


def audit(path: Path) -> Diagnosis:
    """Opens it to append, as the server does, or tries its folder where it is not there yet."""
    try:
        if path.exists():
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
        else:
            _try_to_write(path.parent)
    except OSError as error:
        return Diagnosis.of(
            Problem(f"it cannot be written: {error.strerror}", "check MANGA_AUDIT_LOG, and the owner and mode")
        )
    return _room_on(path.parent, "make room, or no order access can be written down")


def data(folder: Path) -> Diagnosis:
    """Tries the folder, without which nothing but time is lost."""
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    try:
        _try_to_write(nearest)
    except OSError as error:
        what = f"nothing can be kept in it ({error.strerror}): vectors are computed at every start"
        return Diagnosis.of(Problem(what, "set MANGA_DATA_DIR to a folder that this user may write to"), state=DEGRADED)
    return _room_on(nearest, "make room, or set MANGA_DATA_DIR to a folder elsewhere")


def _try_to_write(folder: Path) -> None:
    with TemporaryFile(dir=folder) as file:
        file.write(b"\0")


def _room_on(folder: Path, remedy: str) -> Diagnosis:
    free = shutil.disk_usage(folder).free
    said = f"{free / 2**30:,.1f} GB free"
    return Diagnosis(OK, said) if free >= LEAST_FREE_BYTES else Diagnosis.of(Problem(said, remedy), state=DEGRADED)
