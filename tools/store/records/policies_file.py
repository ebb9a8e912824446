"""The shop's policies: one Markdown file, in which a line `# shipping en` begins the text of a topic in a language."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

from tools.store.models.policies import LANGUAGES, TOPICS, Policies
from tools.store.records.lines import UnreadableFile, read_bytes

LARGEST_TEXT = 64 * 1024
"""Bytes."""
_HEADING = re.compile(r"#[ \t]+(\S.*)")
_KNOWN = {f"{topic} {language}": (topic, language) for topic, language in product(TOPICS, LANGUAGES)}


class PoliciesFileError(ValueError):
    """A file that cannot be used; the message names it, and the line where one is the matter."""


def load(path: Path) -> Policies:
    """Reads all of it; what stands before the first text is passed over. Raises `PoliciesFileError`."""
    try:
        return parse(read_bytes(path).decode("utf-8-sig"))
    except UnreadableFile as error:
        raise PoliciesFileError(str(error)) from None
    except UnicodeError:
        raise PoliciesFileError(f"{path}: it is not UTF-8 text") from None
    except PoliciesFileError as error:
        raise PoliciesFileError(f"{path}{error}") from None


def parse(content: str) -> Policies:
    """Raises `PoliciesFileError`, also for a topic and language that no text is there for."""
    texts: dict[tuple[str, str], list[str]] = {}
    current: list[str] = []
    for number, line in enumerate(content.splitlines(), 1):
        if heading := _HEADING.fullmatch(line):
            current = texts.setdefault(_named(heading[1], number, texts), [])
        else:
            current.append(line)
    return Policies({_KNOWN[name]: _checked(name, texts.get(_KNOWN[name], [])) for name in _KNOWN})


def _named(heading: str, number: int, before: dict[tuple[str, str], list[str]]) -> tuple[str, str]:
    name = " ".join(heading.lower().split())
    if name not in _KNOWN:
        raise PoliciesFileError(
            f", line {number}: {name[:40]!r} is none of: {', '.join(_KNOWN)}; other headings begin with ##"
        )
    if _KNOWN[name] in before:
        raise PoliciesFileError(f", line {number}: {name!r} stands there twice")
    return _KNOWN[name]


def _checked(name: str, lines: list[str]) -> str:
    text = "\n".join(lines).strip()
    if not text:
        raise PoliciesFileError(f": there is no text under '# {name}'")
    if len(text.encode()) > LARGEST_TEXT:
        raise PoliciesFileError(f": the text under '# {name}' has more than {LARGEST_TEXT // 1024} KB")
    return text
