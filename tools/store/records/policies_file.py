"""Reads the shop's policies: a Markdown file in which a line such as `# shipping en` begins a topic's text in a language."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path

from tools.store.models.order import LANGUAGES, TOPICS, Policies
from tools.store.records.catalog_file import UnreadableFile, read_maybe_gzip

LARGEST_TEXT = 64 * 1024
"""Most bytes of a text."""
MOST_TEXTS = 40
_HEADING = re.compile(r"#[ \t]+(\S.*)")
_TOPIC = re.compile(r"[a-z][a-z0-9-]{0,29}")
_POINTER = re.compile(r"manga://policies/([a-z0-9-]+)")


class PoliciesFileError(ValueError):
    """A policies file has errors. The message names the line, if known, and the file, if `load` raises the error."""


def load(path: Path) -> Policies:
    """Reads the file, plain or gzip; ignores lines before the first text. Raises `PoliciesFileError` for an invalid file."""
    try:
        return parse(read_maybe_gzip(path, 2 * MOST_TEXTS * LARGEST_TEXT).decode("utf-8-sig"))
    except UnreadableFile as error:
        raise PoliciesFileError(str(error)) from None
    except UnicodeError:
        raise PoliciesFileError(f"{path}: it is not UTF-8 text") from None
    except PoliciesFileError as error:
        raise PoliciesFileError(f"{path}{error}") from None


def parse(content: str) -> Policies:
    """Parses the file's content. Raises `PoliciesFileError`, also if there is no text."""
    texts: dict[tuple[str, str], list[str]] = {}
    current: list[str] = []
    for number, line in enumerate(content.splitlines(), 1):
        if heading := _HEADING.fullmatch(line):
            current = texts.setdefault(_parse_heading(heading[1], number, texts), [])
        else:
            current.append(line)
    if not texts:
        raise PoliciesFileError(": there is no text; a line such as '# shipping en' begins one")
    topics = {topic for topic, _ in texts}
    return Policies({name: _check_text(" ".join(name), lines, topics) for name, lines in texts.items()})


def _parse_heading(heading: str, number: int, before: Mapping[tuple[str, str], list[str]]) -> tuple[str, str]:
    name = " ".join(heading.lower().split())
    topic, _, language = name.partition(" ")
    if not _TOPIC.fullmatch(topic) or language not in LANGUAGES:
        raise PoliciesFileError(
            f", line {number}: {name[:40]!r} is no topic and one of {', '.join(LANGUAGES)}, such as '# gift-wrapping en'; "
            "headings within a text begin with ##"
        )
    if topic not in TOPICS and (meant := get_close_matches(topic, TOPICS, n=1, cutoff=0.8)):
        raise PoliciesFileError(f", line {number}: {topic!r} is a slip of {meant[0]!r}")
    if (topic, language) in before:
        raise PoliciesFileError(f", line {number}: {name!r} stands there twice")
    if len(before) >= MOST_TEXTS:
        raise PoliciesFileError(f", line {number}: there are at most {MOST_TEXTS} texts")
    return topic, language


def _check_text(name: str, lines: list[str], topics: Collection[str]) -> str:
    text = "\n".join(lines).strip()
    if not text:
        raise PoliciesFileError(f": there is no text under '# {name}'")
    if len(text.encode()) > LARGEST_TEXT:
        raise PoliciesFileError(f": the text under '# {name}' has more than {LARGEST_TEXT // 1024} KB")
    for pointed in _POINTER.findall(text):
        if pointed not in topics:
            raise PoliciesFileError(f": '# {name}' points to manga://policies/{pointed}, which has no text here")
    return text
