"""What people read: the guide, which is the README and infra/docs, and every other document; and how to look into them."""

from __future__ import annotations

import re
from pathlib import Path

from server.config.settings import ROOT

FOLDERS = (".", ".ci", "infra", "server", "session", "tests", "tools")
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in FOLDERS
    for path in ((ROOT / folder).glob("*.md") if folder == "." else (ROOT / folder).rglob("*.md"))
)
GUIDE = tuple(each for each in DOCUMENTS if each == "README.md" or each.startswith("infra/docs/"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(document: str) -> str:
    return (ROOT / document).read_text("utf-8")


README = text_of("README.md")
WHOLE_GUIDE = "\n".join(text_of(each) for each in GUIDE)


def blocks(language: str, text: str = WHOLE_GUIDE) -> list[str]:
    return [body for kind, body in BLOCK.findall(text) if kind == language]


def code(text: str) -> list[str]:
    """What stands in backticks outside the blocks."""
    return re.findall(r"`([^`\n]+)`", BLOCK.sub("", text))


def after_all(marker: str) -> str:
    """The text from a marker comment to the end of its document, which is the only one of the guide that has it."""
    having = [text_of(each) for each in GUIDE if f"<!-- {marker} -->\n" in text_of(each)]
    assert len(having) == 1, f"{len(having)} documents of the guide have a <!-- {marker} -->"
    return having[0].partition(f"<!-- {marker} -->\n")[2]


def after(marker: str) -> str:
    """The same to the next heading."""
    return re.split(r"^#", after_all(marker), maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of the first Markdown table, without its head."""
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert table is not None
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[0].splitlines()[2:]]


def paths_in(text: str) -> set[str]:
    """What looks like a path of this project, in backticks."""
    looks = r"((?:server|session|tools|infra|tests)(?:/[\w./-]+)?)(?:::\w+)?"
    methods = {"tools/list", "tools/call"}  # of MCP
    return {match[1] for each in code(text) if (match := re.fullmatch(looks, each))} - methods


def links_in(document: str) -> list[tuple[str, Path | None]]:
    """Each target, and where it leads in this project."""
    targets = re.findall(r"!?\[[^\]]*\]\(([^)\s]+)\)", BLOCK.sub("", text_of(document)))
    home = (ROOT / document).parent
    return [
        (each, None if "://" in each else (home / each.partition("#")[0]) if each[0] != "#" else ROOT / document)
        for each in targets
    ]
