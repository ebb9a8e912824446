"""What a record must satisfy to be loaded, beyond its shape: what would stop a load in its middle, hide a title from the
tools, or lose an answer, is told of by name before anything is changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tools.store.backends.store_rules import price_problem
from tools.store.identifiers import TITLE_ID

_ID = re.compile(TITLE_ID)
_BROKEN = re.compile("[\0\ud800-\udfff]")
_LONGEST_NAME = 1_000
_PROSE = ("synopsis",)
_MOST = {"alt_titles": 200, "authors": 200, "tags": 200, "offers": 20}


def check_loaded(value: Mapping[str, Any]) -> str | None:
    """None if a record of the right shape may be loaded, else one line that says where and what is wrong."""
    return next((problem for rule in _RULES if (problem := rule(value))), None)


def _ids(value: Mapping[str, Any]) -> str | None:
    if not _ID.fullmatch(value["title_id"]):
        return f"title_id: {_ID_RULE}"
    unfit = (i for i, each in enumerate(value.get("related") or ()) if not _ID.fullmatch(each))
    return next((f"related[{i}] {_ID_RULE}" for i in unfit), None)


_ID_RULE = "must have 1 to 64 of A-Z a-z 0-9 . _ : - and begin with a letter or digit"


def _texts(value: Mapping[str, Any]) -> str | None:
    for path, text in _walk(value, ""):
        if broken := _BROKEN.search(text):
            what = "U+0000" if broken.group() == "\0" else f"half a character (\\u{ord(broken.group()):04x})"
            return f"{path}: {what} at place {broken.start()}, which no answer and no index can hold"
        if len(text) > _LONGEST_NAME and not path.startswith(_PROSE):
            return f"{path}: must have at most {_LONGEST_NAME} characters"
    return None


def _walk(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for i, each in enumerate(value):
            yield from _walk(each, f"{path}[{i}]")
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _walk(each, f"{path}.{name}" if path else name)


def _lists(value: Mapping[str, Any]) -> str | None:
    too_long = (name for name, most in _MOST.items() if len(value.get(name) or ()) > most)
    return next((f"{name}: must be a list of at most {_MOST[name]}" for name in too_long), None)


def _offers(value: Mapping[str, Any]) -> str | None:
    seen: set[str] = set()
    for i, offer in enumerate(value.get("offers") or ()):
        if problem := price_problem(offer["format"], offer["price_jpy"]):
            return f"offers[{i}] price_jpy {problem}"
        if offer["format"] in seen:
            return f"offers[{i}] format {offer['format']!r} is there twice"
        seen.add(offer["format"])
    return None


def _years(value: Mapping[str, Any]) -> str | None:
    start, end = value.get("start_year"), value.get("end_year")
    return "end_year: must not be before start_year" if start and end and end < start else None


_RULES: tuple[Callable[[Mapping[str, Any]], str | None], ...] = (_texts, _ids, _lists, _offers, _years)
