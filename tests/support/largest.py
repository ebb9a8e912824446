"""The largest arguments that a tool's schema admits, whatever the tool: a new one is covered by its schema alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tools.contract import Tool

Json = dict[str, Any]
Text = Callable[[int], str]
IDENTITY = ("user_id",)
"""Who calls is told beside the arguments."""

_WORDS = ["samurai", "school", "romance", "ghost", "chess", "cooking", "robot", "pirate", "detective", "monster"]
_NICKNAMES = "aot dbz hxh jjk opm bnha csm kny fma"


def _letters(first: int, last: int) -> Text:
    """Of one script, each as likely as the next."""
    draw = random.Random(first)
    return lambda length: "".join(chr(draw.randint(first, last)) for _ in range(length))


def _repeated(text: str) -> Text:
    return lambda length: (text * length)[:length].strip()


TEXTS: Mapping[str, Text] = {
    "accents": _repeated("é"),
    "words": lambda length: " ".join(f"{_WORDS[n % len(_WORDS)]}{n}" for n in range(length))[:length].strip(),
    "letters": lambda length: " ".join(chr(97 + n % 26) for n in range(length))[:length].strip(),
    "themes": _repeated(" ".join(_WORDS) + " "),
    "nicknames": _repeated(_NICKNAMES + " "),
    "kanji": _letters(0x4E00, 0x9FFF),
    "words in kanji": lambda length: "".join(chr(0x4E00 + n) if n % 3 else " " for n in range(length)).strip(),
    "hiragana": _letters(0x3041, 0x3096),
    "katakana": _letters(0x30A1, 0x30FA),
    "marks": lambda length: (("a" + "\u0323\u0301" * 15) * length)[:length],
    "points to a title": _repeated("manga like "),
    "points to an author": _repeated("manga by "),
    "wants a work": _repeated("漫画の作者"),
    "quotes": lambda length: "'" * (length - 1) + "a",
}
"""Kinds of text, as long as is asked for. Each is the worst for something: normalising, splitting, looking up, comparing."""
FIRST = TEXTS["accents"]


def asked_of(tool: Tool, text: Text, known: Mapping[str, Any]) -> Iterator[Json]:
    """All arguments together, each optional one that holds text alone beside those that must be there, since one may leave
    nothing to do for the others, and the bare ones; once, with the first of the texts, each of the other optional ones alone. `known` has values of arguments that must look like something (an id). Raises KeyError,
    which names one that is required and not among them."""
    schema = tool.input_schema
    values = {name: _named(tool, name, text, known) for name in schema["properties"] if name not in IDENTITY}
    given = {name: value for name, value in values.items() if value is not None}
    required = {name: given[name] for name in schema.get("required", ())}
    alone = [name for name in given if name not in required and (_is_free(schema["properties"][name]) or text is FIRST)]
    by_itself = [{**required, name: given[name]} for name in alone]
    chosen = [
        given,
        *(each for each in by_itself if not (tool.check and tool.check(each))),
    ]  # one may be nothing without another
    yield from chosen if required == given or not required else [*chosen, required]


def _named(tool: Tool, name: str, text: Text, known: Mapping[str, Any]) -> Any:
    rule = tool.input_schema["properties"][name]
    if name in known:
        return known[name]
    if not _has_form(rule):
        return _value(rule, text)
    if name in tool.input_schema.get("required", ()):
        raise KeyError(f"{tool.name}: say in this test what a {name} looks like")
    return None


def _is_free(rule: Mapping[str, Any]) -> bool:
    """Whether a value is somebody's words."""
    inside = rule.get("items", rule)
    return inside.get("type") == "string" and "enum" not in inside


def _has_form(rule: Mapping[str, Any]) -> bool:
    return "pattern" in rule or "pattern" in rule.get("items", {})


def _value(either: Mapping[str, Any], text: Text) -> Any:
    rule = either.get("anyOf", [either])[-1]
    if "enum" in rule:
        return max(rule["enum"], key=lambda each: len(str(each)))
    match rule["type"]:
        case "string":
            return text(rule["maxLength"])
        case "array":
            return _items(rule["items"], text, rule["maxItems"])
        case "integer" | "number":
            return rule.get("maximum", 1)
        case _:
            return True


def _items(rule: Mapping[str, Any], text: Text, many: int) -> Sequence[Any]:
    """No two alike, so that none is looked at instead of another."""
    if rule["type"] != "string" or "enum" in rule:
        return [_value(rule, text)]
    return [f"{text(rule['maxLength'] - 3)}{n:03}" for n in range(many)]
