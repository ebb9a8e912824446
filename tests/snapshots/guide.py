"""The guide to adding a tool, which names a tool of this store: its file, whose value it shows, its line and its test."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

GUIDE = "infra/docs/adding-a-tool.md"
FROM_THE_GUIDE = {
    "file": re.compile(r"^\*\*The file\*\* [^\n]*\[(tools/\w+\.py)\]", re.MULTILINE),
    "test": re.compile(r"^\*\*The test\*\* [^\n]*\[(tests/[\w/]+\.py)\]", re.MULTILINE),
    "line": re.compile(r"^\*\*The line\*\* is `(\w+)(\.TOOL)` in \[tools/registry\.py\]", re.MULTILINE),
}
VALUE = re.compile(r"(?<=<!-- new tool -->\n```python\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Example:
    """The files that the guide names, with their texts, and the line as module and name."""

    files: dict[str, str]
    line: tuple[str, str]

    @property
    def module(self) -> str:
        return self.line[0]


def example(root: Path) -> Example:
    """Raises ValueError where the guide does not name them as it is looked for here."""
    guide = (root / GUIDE).read_text("utf-8")
    found = {what: pattern.search(guide) for what, pattern in FROM_THE_GUIDE.items()}
    if lacking := [what for what, match in found.items() if match is None]:
        raise ValueError(f"{GUIDE} has no {', no '.join(lacking)} of a new tool")
    named = {what: match.groups() for what, match in found.items() if match}
    paths = (named["file"][0], named["test"][0])
    return Example({path: (root / path).read_text("utf-8") for path in paths}, named["line"])


def guide_as_the_files_are(root: Path) -> str:
    """Returns the guide with the value of the file that it names; where that is not there, as the guide has it."""
    guide = (root / GUIDE).read_text("utf-8")
    named = FROM_THE_GUIDE["file"].search(guide)
    if named is None or not (root / named[1]).exists():
        return guide
    _, start, value = (root / named[1]).read_text("utf-8").partition("TOOL = Tool(\n")
    return VALUE.sub(lambda _: start + value, guide)
