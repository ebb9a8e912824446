"""Arguments against a tool's input schema: cleaned, checked, completed, and every violation named at once."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from tools.schema.parts import Json
from tools.schema.text import MOST_VALUES, clean, clean_text, holds_more_than
from tools.store.failures import InvalidArguments, Violation
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
"""How to mend a wrong value, where the rule alone does not say it."""


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


def _excerpt(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_ECHO else text[:LONGEST_ECHO] + "…"


def _what(error: Any) -> str:
    rule, limit = error.validator, error.validator_value
    if rule in ("maxLength", "minLength"):
        return f"the text has {len(error.instance)} characters"
    if rule in ("maxItems", "minItems"):
        return f"the list has {len(error.instance)} items"
    if rule == "type":
        return f"{_excerpt(error.instance)} is not of type {_either(limit)}"
    return f"{_excerpt(error.instance)} is not allowed"


def _fix(error: Any) -> str:
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
        return ", ".join(_excerpt(each) for each in schema["enum"])
    low, high = schema.get("minimum"), schema.get("maximum")
    kind = _of_type(schema.get("type", "value")).removeprefix("give ")
    return kind if low is None or high is None else f"{kind} from {low} to {high}"


_FIXES: Mapping[str, Callable[[Any], str]] = {
    "type": _of_type,
    "anyOf": _any_of,
    "enum": lambda limit: "use one of: " + ", ".join(_excerpt(each) for each in limit),
    "maxLength": lambda limit: f"use at most {limit}",
    "minLength": lambda limit: "give some text" if limit == 1 else f"use at least {limit}",
    "maxItems": lambda limit: f"give at most {limit}",
    "minItems": lambda limit: f"give at least {limit}",
    "maximum": lambda limit: f"use at most {limit}",
    "minimum": lambda limit: f"use at least {limit}",
    "pattern": lambda limit: f"use the form {limit}",
}


Schema = Mapping[str, Any]
Check = Callable[[Any], bool]
SILENT = frozenset({"description", "title", "default", "examples"})
"""Keywords without effect on validity."""
EXACT_KINDS: dict[str, type] = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}
"""Numbers that are no integers, and null, are left to the validator."""


def compile_quick_check(schema: Schema | bool) -> Check:
    """A fast check, compiled once, that accepts only what the schema does. Rejects everything under an unknown keyword; the
    validator then decides."""
    if isinstance(schema, bool):
        return _never
    kind = EXACT_KINDS.get(schema["type"]) if isinstance(schema.get("type"), str) else None
    if kind is None:
        return _never
    make, words = _MAKERS[kind]
    if not schema.keys() <= words | SILENT | {"type"}:
        return _never
    checks = [make(schema)] if make else []
    if "enum" in schema:
        allowed = [each for each in schema["enum"] if type(each) is kind]
        checks.append(lambda value: value in allowed)
    return lambda value: type(value) is kind and all(check(value) for check in checks)


def _never(_: Any) -> bool:
    return False


def _text(schema: Schema) -> Check:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    # ECMA 262's `$` is the very end, as in the validator
    pattern = re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", schema.get("pattern", "")))

    def check(value: str) -> bool:
        return len(value) >= least and (most is None or len(value) <= most) and pattern.search(value) is not None

    return check


def _whole(schema: Schema) -> Check:
    least, most = schema.get("minimum"), schema.get("maximum")
    return lambda value: (least is None or value >= least) and (most is None or value <= most)


def _list(schema: Schema) -> Check:
    least, most, item = schema.get("minItems", 0), schema.get("maxItems"), compile_quick_check(schema.get("items", {}))

    def check(value: list[Any]) -> bool:
        return least <= len(value) and (most is None or len(value) <= most) and all(map(item, value))

    return check


def _object(schema: Schema) -> Check:
    if schema.get("additionalProperties") is not False:
        return _never
    required = frozenset(schema.get("required", ()))
    properties = {name: compile_quick_check(each) for name, each in schema.get("properties", {}).items()}

    def check(value: dict[str, Any]) -> bool:
        for name, each in value.items():
            if name not in properties or not properties[name](each):
                return False
        return required <= value.keys()

    return check


# No `enum` of lists or objects: to Python [true] is among [[1]].
_MAKERS: dict[type, tuple[Callable[[Schema], Check] | None, frozenset[str]]] = {
    str: (_text, frozenset({"minLength", "maxLength", "pattern", "enum"})),
    int: (_whole, frozenset({"minimum", "maximum", "enum"})),
    bool: (None, frozenset({"enum"})),
    list: (_list, frozenset({"items", "minItems", "maxItems"})),
    dict: (_object, frozenset({"properties", "required", "additionalProperties"})),
}


KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def compile_success_check(output_schema: Schema) -> Check:
    """Checks for a tool's success: the error envelope, which every output schema admits, is none."""
    success, *_ = output_schema["anyOf"]
    return compile_shape_check({"type": "object", "properties": output_schema["properties"], **success})


def compile_shape_check(schema: Schema) -> Check:
    """A fast check of shape, compiled once. Unknown keywords are ignored."""
    checks: list[Check] = []
    if (kinds := _kinds(schema)) is not None:
        checks.append(lambda value: type(value) in kinds)
    if "anyOf" in schema and (kinds is None or "type" in schema):
        branches = [compile_shape_check(branch) for branch in schema["anyOf"]]
        checks.append(lambda value: any(check(value) for check in branches))
    if "enum" in schema:
        checks.append(lambda value: value in schema["enum"])
    if "required" in schema:
        required = frozenset(schema["required"])
        checks.append(lambda value: required <= value.keys())
    if "properties" in schema:
        checks.append(_properties(schema["properties"]))
    if "items" in schema:
        item = compile_shape_check(schema["items"])
        checks.append(lambda value: all(map(item, value)))
    return checks[0] if len(checks) == 1 else lambda value: _all_hold(checks, value)


def _all_hold(checks: list[Check], value: Any) -> bool:
    """A loop and no generator: every result from the cache passes here, some hundred values of it."""
    for check in checks:  # noqa: SIM110
        if not check(value):
            return False
    return True


def _kinds(schema: Schema) -> frozenset[type] | None:
    """The types that a schema names; None when it names none. Not for isinstance: true and false are no numbers."""
    if "type" in schema:
        return frozenset(KINDS[schema["type"]])
    branches = schema.get("anyOf", ())
    if not branches or any(set(branch) != {"type"} for branch in branches):
        return None
    return frozenset(kind for branch in branches for kind in KINDS[branch["type"]])


def _properties(properties: Mapping[str, Schema]) -> Check:
    plain = {name: kinds for name, each in properties.items() if (kinds := _only_kinds(each)) is not None}
    others = {name: compile_shape_check(each) for name, each in properties.items() if name not in plain}

    def check(value: Any) -> bool:
        for name, kinds in plain.items():  # most of what there is, and most of the time
            if name in value and type(value[name]) not in kinds:
                return False
        for name, each in others.items():  # noqa: SIM110
            if name in value and not each(value[name]):
                return False
        return True

    return check


def _only_kinds(schema: Schema) -> frozenset[type] | None:
    only = any(schema.keys() <= {word, "description"} for word in ("type", "anyOf"))
    return _kinds(schema) if only else None


MOST_VIOLATIONS = 100
IDENTITY = frozenset(
    {
        *("sessionid", "session", "turnid", "turn", "userid", "user", "customerid", "conversationid", "traceid"),
        *("requestid", "callid", "idempotencykey", "turnbudgetms", "tokenbudget", "expectedcalls", "usertoken"),
    }
)
"""Names of identity and budget, which travel beside the arguments; a model may repeat them among the arguments."""
NAME = re.compile("[A-Za-z_-]{2,40}")


class ArgumentsValidator:
    """Compiled once for a tool. `JSON Schema Draft 2020-12` by `jsonschema`; the messages are ours."""

    def __init__(
        self,
        schema: Any,
        check: Callable[[Json], Sequence[Violation]] | None = None,
        spelled: Mapping[str, Callable[[str], Any]] | None = None,
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        """`spelled` brings an argument that came as text, or as a number instead, into its one form, which is checked.
        `renamed` has the new name of each old one that is still taken."""
        finite = Draft202012Validator.TYPE_CHECKER.redefine("number", _is_number)
        validator = extend(Draft202012Validator, {"pattern": _pattern}, type_checker=finite)  # type: ignore[no-untyped-call]
        self._validator = validator(schema)
        self._surely = compile_quick_check(schema)
        self._properties: dict[str, Any] = schema["properties"]
        self._explanations = Explanations(self._properties, [n for n in self._properties if _bare(n) not in IDENTITY])
        self._optional = frozenset(self._properties) - frozenset(schema.get("required", ()))
        self._defaults = {name: rule["default"] for name, rule in self._properties.items() if "default" in rule}
        self._check = check
        self._spelled = dict(spelled or {})
        self._renamed = dict(renamed or {})

    def validated(self, given: Json) -> Json:
        """The arguments as the tool takes them. Raises `InvalidArguments` with every violation."""
        if holds_more_than(MOST_VALUES, given):
            fix = "use only what the tool's schema names"
            raise InvalidArguments([Violation("$", "maxProperties", "the arguments hold far too many values", fix)])
        cleaned = self._one_form({clean_text(name): clean(value) for name, value in given.items()})
        violations = [] if self._surely(cleaned) else self._violations(cleaned)
        if self._check is not None:
            violations += self._check(cleaned)
        if violations:
            raise InvalidArguments(sorted(violations, key=lambda v: v.path)[:MOST_VIOLATIONS])
        return self._defaults | cleaned

    def _violations(self, cleaned: Json) -> list[Violation]:
        return [v for error in self._validator.iter_errors(cleaned) for v in self._explanations.of(error)]

    def ignored(self, given: Json) -> list[str]:
        """Names among arguments that were found valid which say who calls, and which the tool does not know."""
        return [name for name in map(clean_text, given) if self._says_who_calls(name)]

    def _one_form(self, cleaned: Json) -> Json:
        for old, new in self._renamed.items():
            if old in cleaned:
                cleaned.setdefault(new, cleaned.pop(old))
        meant = {
            name: value
            for name, value in cleaned.items()
            if not (self._says_who_calls(name) or self._says_nothing(name, value))
        }
        for name, spelled in self._spelled.items():
            if isinstance(text := self._as_text(name, meant.get(name)), str):
                meant[name] = spelled(text)
        return meant

    def _as_text(self, name: str, value: Any) -> Any:
        """Models write a number as one, where text is asked for that may be a number."""
        number = type(value) is int and self._properties[name].get("type") == "string"
        return str(value) if number else value

    def _says_nothing(self, name: str, value: Any) -> bool:
        """Models write null or an empty text where they mean to leave something out; some have to name everything."""
        return name in self._optional and value in (None, "")

    def _says_who_calls(self, name: str) -> bool:
        return name not in self._properties and NAME.fullmatch(name) is not None and _bare(name) in IDENTITY


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
