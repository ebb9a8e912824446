"""Arguments against a tool's input schema: cleaned, checked, completed, and every violation named at once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from tools.schema.clean import MOST_VALUES, clean, clean_text, holds_more_than
from tools.schema.parts import Json
from tools.schema.surely import surely
from tools.schema.violations import Explanations
from tools.store.failures import InvalidArguments, Violation

MOST_VIOLATIONS = 100
IDENTITY = frozenset(
    {
        *("sessionid", "session", "turnid", "turn", "userid", "user", "customerid", "conversationid", "traceid"),
        *("requestid", "callid", "idempotencykey", "turnbudgetms", "tokenbudget", "expectedcalls", "usertoken"),
    }
)
"""What says who calls and when, which travels beside the arguments; a model that was told of it may repeat it among them."""
NAME = re.compile("[A-Za-z_-]{2,40}")


class ArgumentsValidator:
    """Compiled once for a tool. `JSON Schema Draft 2020-12` by `jsonschema`; the messages are ours."""

    def __init__(
        self,
        schema: Any,
        check: Callable[[Json], Sequence[Violation]] | None = None,
        spelled: Mapping[str, Callable[[str], Any]] | None = None,
    ) -> None:
        """`spelled` brings an argument that came as text, or as a number instead, into its one form, which is checked."""
        finite = Draft202012Validator.TYPE_CHECKER.redefine("number", _is_number)
        validator = extend(Draft202012Validator, {"pattern": _pattern}, type_checker=finite)  # type: ignore[no-untyped-call]
        self._validator = validator(schema)
        self._surely = surely(schema)
        self._properties: dict[str, Any] = schema["properties"]
        self._explanations = Explanations(self._properties, [n for n in self._properties if _bare(n) not in IDENTITY])
        self._optional = frozenset(self._properties) - frozenset(schema.get("required", ()))
        self._defaults = {name: rule["default"] for name, rule in self._properties.items() if "default" in rule}
        self._check = check
        self._spelled = dict(spelled or {})

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
