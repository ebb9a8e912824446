"""A copy of the server from which a room was taken out, as somebody would who has no use for it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.support.serving import ROOT

CODE = ("server", "tools", "session")


def without_room(room: str, line_of: str, name: str, folder: Path) -> Path:
    """Copies the code to `folder` without the folder `room`, and without the lines of the file `line_of` that import its
    `name` or have nothing else in them: an entry of a list, or a call of it. Fails where these are not one each."""
    for each in CODE:
        shutil.copytree(ROOT / each, folder / each, ignore=shutil.ignore_patterns("__pycache__"))
    for data in ("pyproject.toml", "infra/__init__.py", "infra/demo"):
        source, target = ROOT / data, folder / data
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copyfile(source, target)
    shutil.rmtree(folder / room)
    imports = re.compile(rf"^from {room.replace('/', '.')}(?:\.\w+)? import {name}\n", re.MULTILINE)
    entry = re.compile(rf"^ +(?:{name},|(?:\w+ = )?{name}\(.*\))\n", re.MULTILINE)
    list_file = folder / line_of
    text = list_file.read_text("utf-8")
    for line in (imports, entry):
        text, found = line.subn("", text)
        assert found == 1, f"{line_of} has {found} lines like {line.pattern!r}"
    list_file.write_text(text, "utf-8")
    return folder
