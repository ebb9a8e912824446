"""The line of a tool in tools/registry.py, and the import of its module: taken out of its text, and put in again."""

from __future__ import annotations

import re

_LIST = re.compile(r"(?<=^TOOLS: tuple\[Tool, \.\.\.\] = \(\n)(?:    .*\n)*(?=\))", re.MULTILINE)
_IMPORT = re.compile(r"^from tools import (?:\([^)]*\)|.*)$", re.MULTILINE)


def without_line(registry: str, line: tuple[str, str]) -> tuple[str, int]:
    """The text without it, and which place it had. Raises ValueError where it is not there."""
    module, _ = line
    lines = _one(_LIST, registry).splitlines()
    place = lines.index(f"    {''.join(line)},")
    imported = _one(_IMPORT, registry)
    without = re.sub(rf"\b{module},\s*|,\s*{module}\b", "", imported, count=1)
    return _replaced(registry, imported, without, [*lines[:place], *lines[place + 1 :]]), place


def with_line(registry: str, line: tuple[str, str], place: int | None = None) -> str:
    """The text with it at that place, or at the end. Raises ValueError for a registry of another form."""
    module, _ = line
    lines = _one(_LIST, registry).splitlines()
    lines.insert(len(lines) if place is None else place, f"    {''.join(line)},")
    imported = _one(_IMPORT, registry)
    within = re.sub(r"^from tools import (\(\s*)?", rf"\g<0>{module}, ", imported)
    return _replaced(registry, imported, within, lines)


def _replaced(registry: str, imported: str, by: str, lines: list[str]) -> str:
    text = registry.replace(imported, by, 1)
    return _LIST.sub(lambda _: "".join(f"{line}\n" for line in lines), text)


def _one(part: re.Pattern[str], registry: str) -> str:
    found = part.search(registry)
    if found is None:
        raise ValueError("tools/registry.py has no list of tools, or no import of them")
    return found[0]
