"""Arguments against a tool's input schema: cleaned, checked, completed, and every violation named at once."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from tools.schema.parts import Json
from tools.schema.text import stream_safe, visible
from tools.store.failures import InvalidArguments, Violation

LONGEST_ECHO = 60
MOST_VIOLATIONS = 100
MOST_VALUES = 512
"""Twice what all arguments of a tool hold together, a text counting one for each hundred characters. Cleaning and checking
take time for each, while every other caller waits."""
LONGEST_TEXT = 1000
"""Twice the longest text that a schema admits. Longer text is refused for its length, and not worth normalising."""
DEEPEST = 32
"""Nothing a tool takes is nested nearly so deep; what lies below is cut off, and refused for what holds it."""
MOST_GUESSES = 5
"""For how many unknown names the nearest known one is looked for: as many as a message tells of."""
IDENTITY = frozenset(
    {
        *("sessionid", "session", "turnid", "turn", "userid", "user", "customerid", "conversationid", "traceid"),
        *("requestid", "callid", "idempotencykey", "turnbudgetms", "expectedcalls", "usertoken"),
    }
)
"""What says who calls and when, which travels beside the arguments; a model that was told of it may repeat it among them."""
NAME = re.compile("[A-Za-z_-]{2,40}")
FIXES = {
    "genre": "genre is the readership: shonen, seinen, shojo, josei or kodomo; a theme or mood belongs into query",
    "title_id": "this is an id such as manga-001001, not a name: call search_manga_catalog first and use its title_id",
    "title_ids": "these are ids such as manga-001001, not names: call search_manga_catalog first and use its title_ids",
    "result_set": "use the result_set of a search or of recommendations as it was given, or pass title_ids",
    "order_id": "an order number is MNG- and eight letters or digits, for example MNG-DEMO1001: ask the customer for it, "
    "or leave it out for their latest orders",
}
"""What to do about a value that is not allowed, where the rule alone would not say it."""
LARGEST_BITS = 1023
"""A whole number beyond a double is infinite to most readers of JSON (RFC 8259, section 6), and so it is here."""


class ArgumentsValidator:
    """Compiled once for a tool. `JSON Schema Draft 2020-12` by `jsonschema`; the messages are ours."""

    def __init__(
        self,
        schema: Any,
        check: Callable[[Json], Sequence[Violation]] | None = None,
        spelled: Mapping[str, Callable[[str], str]] | None = None,
    ) -> None:
        """`spelled` brings the text of an argument into its one form before it is checked."""
        finite = Draft202012Validator.TYPE_CHECKER.redefine("number", _is_number)
        validator = extend(Draft202012Validator, {"pattern": _pattern}, type_checker=finite)  # type: ignore[no-untyped-call]
        self._validator = validator(schema)
        self._properties: dict[str, Any] = schema["properties"]
        self._worth_a_guess = [name for name in self._properties if _bare(name) not in IDENTITY]
        self._optional = frozenset(self._properties) - frozenset(schema.get("required", ()))
        self._defaults = {name: rule["default"] for name, rule in self._properties.items() if "default" in rule}
        self._check = check
        self._spelled = dict(spelled or {})

    def validated(self, given: Json) -> Json:
        """The arguments as the tool takes them. Raises `InvalidArguments` with every violation."""
        if _holds_more_than(MOST_VALUES, given):
            fix = "use only what the tool's schema names"
            raise InvalidArguments([Violation("$", "maxProperties", "the arguments hold far too many values", fix)])
        cleaned = self._one_form({clean_text(name): clean(value) for name, value in given.items()})
        violations = [v for error in self._validator.iter_errors(cleaned) for v in self._explain(error)]
        if self._check is not None:
            violations += self._check(cleaned)
        if violations:
            raise InvalidArguments(sorted(violations, key=lambda v: v.path)[:MOST_VIOLATIONS])
        return self._defaults | cleaned

    def ignored(self, given: Json) -> list[str]:
        """Names among arguments that were found valid which say who calls, and which the tool does not know."""
        return [name for name in map(clean_text, given) if self._says_who_calls(name)]

    def _one_form(self, cleaned: Json) -> Json:
        kept = {
            name: value
            for name, value in cleaned.items()
            if not (self._says_who_calls(name) or self._says_nothing(name, value))
        }
        for name, spelled in self._spelled.items():
            if isinstance(kept.get(name), str):
                kept[name] = spelled(kept[name])
        return kept

    def _says_nothing(self, name: str, value: Any) -> bool:
        """Models write null or an empty text where they mean to leave something out; some have to name everything."""
        return name in self._optional and value in (None, "")

    def _says_who_calls(self, name: str) -> bool:
        return name not in self._properties and NAME.fullmatch(name) is not None and _bare(name) in IDENTITY

    def _explain(self, error: Any) -> list[Violation]:
        if error.validator == "required":
            missing = [name for name in error.validator_value if name not in error.instance]
            # jsonschema raises one error for each missing name; its message says which.
            return [self._missing(name) for name in missing if error.message.startswith(repr(name))]
        if error.validator == "additionalProperties":
            unknown = sorted(name for name in error.instance if name not in self._properties)
            return [self._unknown(name, guess=place < MOST_GUESSES) for place, name in enumerate(unknown)]
        return [Violation(error.json_path, str(error.validator), _what(error), _fix(error))]

    def _missing(self, name: str) -> Violation:
        about = str(self._properties[name].get("description", "")).split(". ")[0]
        return Violation(f"$.{name}", "required", f"{name} is missing", f"add it: {about}" if about else "add it")

    def _unknown(self, name: str, *, guess: bool) -> Violation:
        shown = name[:LONGEST_ECHO]
        near = get_close_matches(shown, self._worth_a_guess, n=1, cutoff=0.5) if guess else []
        known = (f"did you mean {near[0]}? " if near else "") + f"use only: {', '.join(self._properties)}"
        path = f"$.{shown}" if shown.isidentifier() else f"$[{json.dumps(shown, ensure_ascii=False)}]"
        return Violation(path, "additionalProperties", f"there is no argument {shown!r}", known)


def _bare(name: str) -> str:
    """`X-Session-ID`, `session_id` and `sessionId` are one name."""
    return re.sub(r"[^a-z]", "", name.lower()).removeprefix("x")


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[ValidationError]:
    """ECMA 262's `$` is the very end; Python's also stands before a last newline, which would let one through."""
    if isinstance(value, str) and not re.search(re.sub(r"(?<!\\)\$$", r"\\Z", pattern), value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _is_number(_: Any, value: Any) -> bool:
    """NaN and the infinities are no JSON, but readers of JSON let them through."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _holds_more_than(most: int, value: Any) -> bool:
    """Counted as far as `clean` looks, and no further than `most`."""
    level = [value]
    for _ in range(DEEPEST):
        deeper: list[Any] = []
        for each in level:
            if isinstance(each, str):
                most -= min(len(each), LONGEST_TEXT) // 100
            elif isinstance(each, list | dict):
                most -= len(each)
                deeper += each if isinstance(each, list) else [*each.keys(), *each.values()]
            if most < 0:
                return True
        level = deeper
    return False


def clean(value: Any, depth: int = 0) -> Any:
    """Text normalised wherever it stands: NFKC (Unicode Annex 15), without control, invisible and bidi characters.
    Numbers as JSON means them: 5.0 is 5."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int | float):
        return _clean_number(value)
    if depth >= DEEPEST:
        return "…"
    if isinstance(value, list):
        return [clean(each, depth + 1) for each in value]
    if isinstance(value, dict):
        return {clean_text(key): clean(each, depth + 1) for key, each in value.items()}
    return value


def _clean_number(value: int | float) -> int | float:
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if value.bit_length() > LARGEST_BITS:
        return math.inf if value > 0 else -math.inf
    return value


def clean_text(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    # Taken out first: what an invisible character kept apart is then composed.
    shown = visible(text)
    return unicodedata.normalize("NFKC", stream_safe(shown)) if len(shown) <= LONGEST_TEXT else shown


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_ECHO else text[:LONGEST_ECHO] + "…"


def _what(error: Any) -> str:
    rule, limit = error.validator, error.validator_value
    if rule in ("maxLength", "minLength"):
        return f"the text has {len(error.instance)} characters"
    if rule in ("maxItems", "minItems"):
        return f"the list has {len(error.instance)} items"
    if rule == "type":
        return f"{_shown(error.instance)} is not of type {limit if isinstance(limit, str) else ' or '.join(limit)}"
    return f"{_shown(error.instance)} is not allowed"


def _fix(error: Any) -> str:
    rule, limit = error.validator, error.validator_value
    if rule in ("enum", "pattern") and (name := error.absolute_path and error.absolute_path[0]) in FIXES:
        return FIXES[name]
    fixes = {
        "type": lambda: f"give {_a(limit)}",
        "enum": lambda: "use one of: " + ", ".join(_shown(each) for each in limit),
        "maxLength": lambda: f"use at most {limit}",
        "minLength": lambda: "give some text" if limit == 1 else f"use at least {limit}",
        "maxItems": lambda: f"give at most {limit}",
        "minItems": lambda: f"give at least {limit}",
        "maximum": lambda: f"use at most {limit}",
        "minimum": lambda: f"use at least {limit}",
        "pattern": lambda: f"use the form {limit}",
    }
    return fixes[str(rule)]() if str(rule) in fixes else f"see the tool's schema, rule {rule}"


def _a(kind: str | list[str]) -> str:
    named = kind if isinstance(kind, str) else " or ".join(kind)
    return f"an {named}" if named[0] in "aeiou" else f"a {named}"
