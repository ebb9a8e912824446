"""What is wrong with arguments, in words by which a model can mend them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from tools.store.failures import Violation
from tools.store.identifiers import IdPattern

LONGEST_ECHO = 60
MOST_GUESSES = 5
"""For how many unknown names the nearest known one is looked for: as many as a message tells of."""
FIXES = {
    "genre": "genre is the readership: shonen, seinen, shojo, josei or kodomo; a theme or mood belongs into query",
    "title_id": "an id looks like {example}, a name is none: call search_manga_catalog first and use its title_id",
    "title_ids": "ids look like {example}, names are none: call search_manga_catalog first and use its title_ids",
    "result_set": "use the result_set of a search or of recommendations as it was given, or pass title_ids",
    "volume": 'give a number such as 12, or "next" for the one that follows; leave it out for all and the latest',
    "month": "write it YYYY-MM, as 2026-12",
    "order_id": "an order number looks like {example}: ask the customer for it, or leave it out for their latest orders",
}
"""What to do about a value that is not allowed, where the rule alone would not say it."""


class Explanations:
    """Violations of one tool's input schema. `worth_a_guess` are the names that a wrong one may have been meant for."""

    def __init__(self, properties: Mapping[str, Any], worth_a_guess: Sequence[str]) -> None:
        self._properties = properties
        self._worth_a_guess = worth_a_guess

    def of(self, error: Any) -> list[Violation]:
        """One for each thing to mend: jsonschema tells of all unknown names in one error."""
        if error.validator == "required":
            # One error for each missing name, whose message says which.
            return [self._missing(name) for name in error.validator_value if error.message.startswith(repr(name))]
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


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_ECHO else text[:LONGEST_ECHO] + "…"


def _what(error: Any) -> str:
    """What is the case."""
    rule, limit = error.validator, error.validator_value
    if rule in ("maxLength", "minLength"):
        return f"the text has {len(error.instance)} characters"
    if rule in ("maxItems", "minItems"):
        return f"the list has {len(error.instance)} items"
    if rule == "type":
        return f"{_shown(error.instance)} is not of type {_either(limit)}"
    return f"{_shown(error.instance)} is not allowed"


def _fix(error: Any) -> str:
    """What to do about it."""
    rule, limit = str(error.validator), error.validator_value
    argument = error.absolute_path[0] if error.absolute_path else None
    if rule in ("enum", "pattern", "anyOf") and argument in FIXES:
        fix = FIXES[str(argument)]
        return fix.format(example=IdPattern(limit).example) if "{example}" in fix else fix
    return _FIXES[rule](limit) if rule in _FIXES else f"see the tool's schema, rule {rule}"


def _of_type(limit: str | Collection[str]) -> str:
    named = _either(limit)
    return f"give an {named}" if named[0] in "aeiou" else f"give a {named}"


def _either(kinds: str | Collection[str]) -> str:
    return kinds if isinstance(kinds, str) else " or ".join(kinds)


def _any_of(forms: Sequence[Mapping[str, Any]]) -> str:
    return "give " + " or ".join(_form(each) for each in forms)


def _form(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(_shown(each) for each in schema["enum"])
    low, high = schema.get("minimum"), schema.get("maximum")
    kind = _of_type(schema.get("type", "value")).removeprefix("give ")
    return kind if low is None or high is None else f"{kind} from {low} to {high}"


_FIXES: Mapping[str, Callable[[Any], str]] = {
    "type": _of_type,
    "anyOf": _any_of,
    "enum": lambda limit: "use one of: " + ", ".join(_shown(each) for each in limit),
    "maxLength": lambda limit: f"use at most {limit}",
    "minLength": lambda limit: "give some text" if limit == 1 else f"use at least {limit}",
    "maxItems": lambda limit: f"give at most {limit}",
    "minItems": lambda limit: f"give at least {limit}",
    "maximum": lambda limit: f"use at most {limit}",
    "minimum": lambda limit: f"use at least {limit}",
    "pattern": lambda limit: f"use the form {limit}",
}
