"""The guide to adding a tool, which shows a tool of this store: its file and its test as they are, and its line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

GUIDE = "infra/docs/adding-a-tool.md"
_SHOWN = r"For example `({folder}/[\w/]+\.py)`:\n\n<!-- new {what} -->\n```python\n(.*?)^```$"
FROM_THE_GUIDE = {
    "file": re.compile(_SHOWN.format(folder="tools", what="tool"), re.MULTILINE | re.DOTALL),
    "test": re.compile(_SHOWN.format(folder="tests", what="test"), re.MULTILINE | re.DOTALL),
    "line": re.compile(r"^\*\*The line\*\* is `(\w+)(\.TOOL)` in \[tools/registry\.py\]", re.MULTILINE),
}


@dataclass(frozen=True, slots=True)
class Example:
    """What the guide shows: texts by the paths they belong to, and the line as module and name."""

    files: dict[str, str]
    line: tuple[str, str]

    @property
    def module(self) -> str:
        return self.line[0]


def example(root: Path) -> Example:
    """Raises ValueError where the guide does not say it as it is looked for here."""
    guide = (root / GUIDE).read_text("utf-8")
    found = {what: pattern.search(guide) for what, pattern in FROM_THE_GUIDE.items()}
    if lacking := [what for what, match in found.items() if match is None]:
        raise ValueError(f"{GUIDE} has no {', no '.join(lacking)} of a new tool")
    shown = {what: match.groups() for what, match in found.items() if match}
    return Example(dict([shown["file"], shown["test"]]), shown["line"])


def guide_as_the_files_are(root: Path) -> str:
    """The guide with the texts of the files that it shows; where one is not there, as the guide has it."""
    guide = (root / GUIDE).read_text("utf-8")
    for path, text in example(root).files.items():
        if (root / path).exists():
            guide = guide.replace(text, (root / path).read_text("utf-8"))
    return guide
