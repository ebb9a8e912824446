"""Validates arguments against a tool's input schema: cleans them, adds defaults, and reports all violations at once."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from tools.schema.parts import Json, Schema
from tools.schema.text import LONGEST_TEXT, MOST_VALUES, clean, clean_text, holds_more_than
from tools.store.failures import InvalidArguments, Violation
from tools.store.identifiers import IdPattern

LONGEST_ECHO = 60
MOST_GUESSES = 5
"""Most unknown names for which a similar name is looked up, as many as a message lists."""
FIXES = {
    "genre": "genre is the readership: shonen, seinen, shojo, josei or kodomo; a theme or mood belongs into query",
    "title_id": "an id looks like {example}, a name is none: call search_manga_catalog first and use its title_id",
    "title_ids": "ids look like {example}, names are none: call search_manga_catalog first and use its title_ids",
    "result_set": "use the result_set of a search or of recommendations as it was given, or pass title_ids",
    "volume": 'give a number such as 12, or "next" for the one that follows; leave it out for all and the latest',
    "month": "write it YYYY-MM, as 2026-12",
    "order_id": "an order number looks like {example}: ask the customer for it, or leave it out for their latest orders",
}
"""Advice by argument, for rules whose name alone does not say how to correct a value."""


def _quote(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_ECHO else text[:LONGEST_ECHO] + "…"


def _describe(error: Any) -> str:
    rule = error.validator
    if rule in ("maxLength", "minLength"):
        return f"the text has {len(error.instance)} characters" + (", normalised to NFKC" if rule == "maxLength" else "")
    if rule in ("maxItems", "minItems"):
        return f"the list has {len(error.instance)} items"
    if rule == "type":
        return f"{_quote(error.instance)} is not of type {_join_kinds(error.validator_value)}"
    return f"{_quote(error.instance)} is not allowed"


def _advise(error: Any) -> str:
    rule, limit = str(error.validator), error.validator_value
    argument = error.absolute_path[0] if error.absolute_path else None
    if rule in ("enum", "pattern", "anyOf") and argument in FIXES:
        fix = FIXES[str(argument)]
        return fix.format(example=IdPattern(limit).example) if "{example}" in fix else fix
    if rule == "type":
        return f"give {_join_kinds(limit, article=True)}"
    if rule == "anyOf":
        return "give " + " or ".join(map(_describe_form, limit))
    if rule == "enum":
        return "use one of: " + ", ".join(map(_quote, limit))
    if rule == "minLength" and limit == 1:
        return "give some text"
    return _FIXES[rule].format(limit) if rule in _FIXES else f"see the tool's schema, rule {rule}"


def _join_kinds(kinds: str | Collection[str], *, article: bool = False) -> str:
    joined = kinds if isinstance(kinds, str) else " or ".join(kinds)
    return f"{'an' if joined[0] in 'aeiou' else 'a'} {joined}" if article else joined


def _describe_form(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(map(_quote, schema["enum"]))
    low, high = schema.get("minimum"), schema.get("maximum")
    kind = _join_kinds(schema.get("type", "value"), article=True)
    return kind if low is None or high is None else f"{kind} from {low} to {high}"


_FIXES = {
    "maxLength": "use at most {}",
    "minLength": "use at least {}",
    "maxItems": "give at most {}",
    "minItems": "give at least {}",
    "maximum": "use at most {}",
    "minimum": "use at least {}",
    "pattern": "use the form {}",
}


Check = Callable[[Any], bool]
NEVER = core_schema.is_instance_schema(type("Never", (), {}))
"""Core schema that accepts no value."""
SILENT = frozenset({"type", "description", "title", "default", "examples"})
"""Keywords without effect on validity, and `type`, which is read for every schema."""
_EXACT: dict[str, tuple[type, Callable[..., CoreSchema], dict[str, str]]] = {
    "string": (
        str,
        core_schema.str_schema,
        {"minLength": "min_length", "maxLength": "max_length", "pattern": "", "enum": ""},
    ),
    "integer": (int, core_schema.int_schema, {"minimum": "ge", "maximum": "le", "enum": ""}),
    "boolean": (bool, core_schema.bool_schema, {"enum": ""}),
    "array": (list, core_schema.list_schema, {"items": "", "minItems": "min_length", "maxItems": "max_length"}),
    "object": (dict, core_schema.typed_dict_schema, {"properties": "", "required": "", "additionalProperties": ""}),
}
"""By JSON type: the Python type, the core schema's factory, and its parameter for each supported keyword; "" for a keyword
that `_convert_exactly` converts itself. Other types, and an `enum` of lists or objects, are left to the slower validator,
since in Python [True] equals [1]."""


def compile_quick_check(schema: Schema | bool) -> Check:
    """Compiles a fast check that accepts only valid values. It rejects every value to which an unsupported keyword applies,
    even a valid one: the slower validator then has to decide."""
    return SchemaValidator(_convert_exactly(schema)).isinstance_python


def _convert_exactly(schema: Schema | bool) -> CoreSchema:
    if isinstance(schema, bool) or not isinstance(kind := schema.get("type"), str) or kind not in _EXACT:
        return NEVER
    python, make, words = _EXACT[kind]
    if not schema.keys() <= words.keys() | SILENT:
        return NEVER
    limits: dict[str, Any] = {name: schema[word] for word, name in words.items() if name and word in schema}
    if kind == "object":
        if schema.get("additionalProperties") is not False:
            return NEVER
        return make(_convert_fields(schema, _convert_exactly, NEVER), extra_behavior="forbid", strict=True)
    if kind == "array":
        return make(_convert_exactly(schema.get("items", {})), strict=True, **limits)
    if "pattern" in schema:
        limits |= {"pattern": _end_pattern(schema["pattern"]), "regex_engine": "python-re"}
    exact = make(strict=True, **limits)
    if "enum" not in schema:
        return exact
    allowed = [each for each in schema["enum"] if type(each) is python]
    return core_schema.chain_schema([exact, core_schema.literal_schema(allowed)]) if allowed else NEVER


def _convert_fields(
    schema: Schema, convert: Callable[[Schema], CoreSchema], other: CoreSchema
) -> dict[str, core_schema.TypedDictField]:
    """Converts the fields of an object's schema. `other`: the core schema for required fields that are not declared."""
    required = schema.get("required", ())
    fields = dict.fromkeys(required, other) | {name: convert(each) for name, each in schema.get("properties", {}).items()}
    return {name: core_schema.typed_dict_field(each, required=name in required) for name, each in fields.items()}


_SHAPES: dict[str, CoreSchema] = {
    "string": core_schema.str_schema(strict=True),
    "integer": core_schema.int_schema(strict=True),
    "number": core_schema.union_schema([core_schema.int_schema(strict=True), core_schema.float_schema(strict=True)]),
    "boolean": core_schema.bool_schema(strict=True),
    "null": core_schema.none_schema(),
    "array": core_schema.list_schema(strict=True),
    "object": core_schema.dict_schema(strict=True),
}


def compile_success_check(output_schema: Schema) -> Check:
    """Compiles a fast check of types, fields and enums that accepts a tool's successes, but not the error envelope, which
    every output schema admits. Ignores other keywords, such as limits and patterns."""
    success, *_ = output_schema["anyOf"]
    shape = _convert_shape({"type": "object", "properties": output_schema["properties"], **success})
    return SchemaValidator(shape).isinstance_python


def _convert_shape(schema: Schema) -> CoreSchema:
    shapes: list[CoreSchema] = [_SHAPES[schema["type"]]] if "type" in schema else []
    if schema.keys() & {"properties", "required"}:
        fields = _convert_fields(schema, _convert_shape, core_schema.any_schema())
        shapes = [core_schema.typed_dict_schema(fields, extra_behavior="allow", strict=True)]
    if "items" in schema:
        shapes = [core_schema.list_schema(_convert_shape(schema["items"]), strict=True)]
    if "anyOf" in schema:
        shapes.append(core_schema.union_schema([_convert_shape(each) for each in schema["anyOf"]], mode="left_to_right"))
    if "enum" in schema:
        shapes.append(core_schema.literal_schema(list(schema["enum"])))
    return core_schema.chain_schema(shapes or [core_schema.any_schema()])


MOST_VIOLATIONS = 100
IDENTITY = frozenset(
    {
        *("sessionid", "session", "turnid", "turn", "userid", "user", "customerid", "conversationid", "traceid"),
        *("requestid", "callid", "idempotencykey", "turnbudgetms", "tokenbudget", "expectedcalls", "usertoken"),
    }
)
"""Names of identity and budget fields, which are sent beside the arguments; models may repeat them as arguments."""
NAME = re.compile("[A-Za-z_-]{2,40}")


@cache
def _validator_class() -> Any:
    finite = Draft202012Validator.TYPE_CHECKER.redefine("number", _is_number)
    return extend(Draft202012Validator, {"pattern": _pattern}, type_checker=finite)  # type: ignore[no-untyped-call]


class ArgumentsValidator:
    """Validates the arguments of one tool by JSON Schema (Draft 2020-12), with its own messages."""

    def __init__(
        self,
        schema: Any,
        check: Callable[[Json], Sequence[Violation]] | None = None,
        spelled: Mapping[str, Callable[[str], Any]] | None = None,
    ) -> None:
        """`check`: finds violations of rules between arguments. `spelled`: normalisers by argument, applied to text before
        validation, to ids in lists, and to an integer given for a string."""
        self._validator = _validator_class()(schema)
        self._quick_check = compile_quick_check(schema)
        self._properties: dict[str, Any] = schema["properties"]
        self._worth_a_guess = [name for name in self._properties if _squeeze(name) not in IDENTITY]
        self._optional = frozenset(self._properties) - frozenset(schema.get("required", ()))
        self._defaults = {name: rule["default"] for name, rule in self._properties.items() if "default" in rule}
        limits = {name: rule.get("items", rule).get("maxLength") for name, rule in self._properties.items()}
        self._longest = {name: limit or LONGEST_TEXT for name, limit in limits.items()}
        self._check = check
        self._spelled = dict(spelled or {})

    def validate(self, given: Json) -> Json:
        """Returns the arguments cleaned and with defaults. Raises `InvalidArguments` with all violations (at most 100)."""
        if holds_more_than(MOST_VALUES, given):
            fix = "use only names of the tool's schema"
            raise InvalidArguments([Violation("$", "maxProperties", "the arguments hold far too many values", fix)])
        names = {clean_text(name, LONGEST_ECHO): value for name, value in given.items()}
        cleaned = self._normalise(
            {name: clean(value, most=self._longest.get(name, LONGEST_ECHO)) for name, value in names.items()}
        )
        errors = () if self._quick_check(cleaned) else self._validator.iter_errors(cleaned)
        violations = [violation for error in errors for violation in self._explain(error)]
        if self._check is not None:
            violations += self._check(cleaned)
        if violations:
            raise InvalidArguments(sorted(violations, key=lambda v: v.path)[:MOST_VIOLATIONS])
        return self._defaults | cleaned

    def _explain(self, error: Any) -> list[Violation]:
        """Converts a jsonschema error to violations, one for each argument to correct, since one error may report several
        unknown names."""
        if error.validator == "required":
            # jsonschema reports each missing name in an error of its own, and names it only in the message.
            return [self._missing(name) for name in error.validator_value if error.message.startswith(repr(name))]
        if error.validator == "additionalProperties":
            unknown = sorted(name for name in error.instance if name not in self._properties)
            return [self._unknown(name, guess=place < MOST_GUESSES) for place, name in enumerate(unknown)]
        return [Violation(error.json_path, str(error.validator), _describe(error), _advise(error))]

    def _missing(self, name: str) -> Violation:
        about = str(self._properties[name].get("description", "")).split(". ")[0]
        return Violation(f"$.{name}", "required", f"{name} is missing", f"add it: {about}" if about else "add it")

    def _unknown(self, name: str, *, guess: bool) -> Violation:
        shown = name[:LONGEST_ECHO]
        near = get_close_matches(shown, self._worth_a_guess, n=1, cutoff=0.5) if guess else []
        known = (f"did you mean {near[0]}? " if near else "") + f"use only: {', '.join(self._properties)}"
        path = f"$.{shown}" if shown.isidentifier() else f"$[{json.dumps(shown, ensure_ascii=False)}]"
        return Violation(path, "additionalProperties", f"there is no argument {shown!r}", known)

    def list_ignored(self, given: Json) -> list[str]:
        """Returns the names of the arguments that are ignored: identity and budget fields that the tool does not declare."""
        return [name for name in map(clean_text, given) if self._names_caller(name)]

    def _normalise(self, cleaned: Json) -> Json:
        meant = {
            name: value
            for name, value in cleaned.items()
            if not (self._names_caller(name) or self._is_left_out(name, value))
        }
        for name, spelled in self._spelled.items():
            if isinstance(value := self._as_text(name, meant.get(name)), str):
                meant[name] = spelled(value)
            elif (
                isinstance(value, list)
                and isinstance(items := self._properties[name].get("items"), dict)
                and "pattern" in items
            ):
                meant[name] = [spelled(each) if isinstance(each, str) else each for each in value]
        return meant

    def _as_text(self, name: str, value: Any) -> Any:
        """Converts an integer to text where the schema expects a string, since models often send numbers there."""
        number = type(value) is int and self._properties[name].get("type") == "string"
        return str(value) if number else value

    def _is_left_out(self, name: str, value: Any) -> bool:
        """True for null or "" in an optional argument, since models that must send every argument send these for absent
        ones."""
        return name in self._optional and value in (None, "")

    def _names_caller(self, name: str) -> bool:
        return name not in self._properties and NAME.fullmatch(name) is not None and _squeeze(name) in IDENTITY


def _squeeze(name: str) -> str:
    """Returns the letters a to z of a name in lower case, without a leading x: `X-Session-ID`, `session_id` and `sessionId`
    become equal."""
    return re.sub(r"[^a-z]", "", name.lower()).removeprefix("x")


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not re.search(_end_pattern(pattern), value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _end_pattern(pattern: str) -> str:
    """Makes a final `$` match only at the very end, as in ECMA 262. Python's `$` also matches before a last newline."""
    return re.sub(r"(?<!\\)\$$", r"\\Z", pattern)


def _is_number(_: Any, value: Any) -> bool:
    """True for finite numbers. NaN and the infinities are not valid JSON, although parsers accept them."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
