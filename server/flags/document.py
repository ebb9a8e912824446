"""The flags document: its validation, and the decision whether a tool is on for a caller.

The document is a JSON object by tool name, such as `{"get_recommendations": false, "check_inventory": {"percent": 20}}`. A
tool may also have segments, like those of Sentry's Flagpole. `schema.json` in this folder is the JSON Schema."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from server.call import Principal
from server.config.sources import MOST_BYTES, JsonError, strict_json
from tools.contract import Tool

SCHEMA = Path(__file__).with_name("schema.json")
LONGEST_NAME = 40


def make_printable(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))


def _describe(error: Any) -> str:
    """Describes a validation error by its rule, without values from the document."""
    rule, limit = str(error.validator), error.validator_value
    if rule == "additionalProperties":
        known = error.schema["properties"]
        unknown = next(name for name in error.instance if name not in known and not name.startswith("_"))
        return f"has {make_printable(unknown)[:LONGEST_NAME]!r}; there are {', '.join(known)}"
    if "propertyNames" in error.absolute_schema_path:
        return f"has {make_printable(error.instance)[:LONGEST_NAME]!r}, which no tool can be called"
    if rule == "required":
        limit = next(name for name in limit if name not in error.instance)
    elif rule == "type":
        limit = limit if isinstance(limit, str) else " or ".join(limit)
    elif rule in ("enum", "not"):
        limit = ", ".join(limit if rule == "enum" else limit["enum"])
    return _RULES.get(rule, f"breaks the rule {rule} of the schema").format(limit)


_RULES = {
    "type": "has to be of type {}",
    "required": "lacks {}",
    "enum": "has to be one of {}",
    "minimum": "has to be at least {}",
    "maximum": "has to be at most {}",
    "minLength": "is empty",
    "minItems": "is empty",
    "maxLength": "has more than {} characters",
    "maxItems": "has more than {} items",
    "maxProperties": "has more than {} flags",
    "pattern": "has to look like {}",
    "not": "may not be one of {}",
    "anyOf": "lacks enabled, percent or segments",
    "None": "may have percent or segments, not both",
}


REFERENCE_NAMES = {"enable_manga_preview_tool": "preview_manga_pages", "enable_price_comparison_tool": "compare_prices"}
"""Names that older documents use for two tools, and the tools' present names."""
RELOAD = "$reload"
ON, OFF = "on", "off"


class DocumentError(ValueError):
    """The document is invalid. The message is one line that names the place and the problem, without values."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the caller's property `about` (see `caller_values`). It holds if one of the caller's values is in
    `values` or, if `negated`, if none is. It never holds for a caller without values."""

    about: str
    values: frozenset[str]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """A group of callers: those for whom all conditions hold. The tool is on for `rollout` percent of them."""

    name: str
    rollout: float = 100.0
    conditions: tuple[Condition, ...] = ()


Flag = tuple[Segment, ...]
"""The first segment whose conditions hold decides; if there is none the tool is off."""


@dataclass(frozen=True, slots=True)
class Document:
    """Flags by tool name. A new value of `reload` makes the server reload its tool packages."""

    flags: Mapping[str, Flag] = field(default_factory=dict)
    reload: str | None = None

    def unknown(self, tools: Collection[str]) -> list[str]:
        """Returns the names of flags for which `tools` has no tool, such as tools of another server version."""
        return sorted(set(self.flags) - set(tools))


def parse(content: bytes) -> Document:
    """Parses and validates a document. Raises `DocumentError`."""
    if len(content) > MOST_BYTES:
        raise DocumentError(f"the flags have more than {MOST_BYTES} bytes")
    try:
        value = strict_json(content)
    except JsonError as error:
        raise DocumentError(f"the flags {error}") from None
    if (first := next(_validator().iter_errors(value), None)) is not None:
        raise DocumentError(f"the flags: {make_printable(first.json_path)[:80]} {_describe(first)}")
    flags: dict[str, Flag] = {}
    for name, stated in value.items():
        if name in ("$schema", RELOAD):
            continue
        tool = REFERENCE_NAMES.get(name, name)
        if tool in flags:
            raise DocumentError(f"the flags: {tool} is there twice, by both its names")
        flags[tool] = _read_flag(stated)
    return Document(flags, value.get(RELOAD))


def _read_flag(stated: Any) -> Flag:
    if isinstance(stated, bool):
        return (Segment(ON),) if stated else ()
    if not stated.get("enabled", True):
        return ()
    if "segments" in stated:
        return tuple(_read_segment(each) for each in stated["segments"])
    return (Segment(ON, float(stated.get("percent", 100))),)


def _read_segment(stated: Mapping[str, Any]) -> Segment:
    conditions = (
        Condition(each["property"], frozenset(each["value"]), negated=each["operator"] == "not_in")
        for each in stated.get("conditions", ())
    )
    return Segment(stated["name"], float(stated.get("rollout", 100)), tuple(conditions))


def kind(principal: Principal) -> str:
    """Returns how the user is identified: `anonymous` (not at all), `stated` (unverified), `agent` (stated by an agent with
    a secret), or `token` (JWT)."""
    if principal.user is None:
        return "anonymous"
    if principal.scopes is not None:
        return "token"
    return "agent" if principal.is_proven else "stated"


def caller_values(about: str, principal: Principal) -> frozenset[str]:
    """Returns the caller's values of the property `about` ("scopes", "user", "principal" or "client"); empty if the caller
    has none. Only callers with a JWT have scopes."""
    if about == "scopes":
        return principal.scopes or frozenset()
    value = {"user": principal.user, "principal": kind(principal), "client": principal.agent}[about]
    return frozenset() if value is None else frozenset((value,))


def cohort_key(user: str | None, session: str | None) -> str | None:
    """Returns the key for percentage rollouts: the user, else the session (marked, so as not to equal a user), else None."""
    if user is not None:
        return user
    return f"\0{session}" if session is not None else None


def percentile_of(flag: str, key: str) -> float:
    """Hashes a key to a number from 0 to below 100, uniformly and independently for each flag."""
    hashed = hashlib.sha256(f"{flag}\0{key}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(hashed[:4], "big") / 2**32 * 100


def in_share(flag: str, key: str | None, percent: float) -> bool:
    """True if the key falls within the first `percent` (0 to 100). Without a key, True only for 100."""
    return percent >= 100 or (key is not None and percentile_of(flag, key) < percent)


@dataclass(frozen=True, slots=True)
class Decision:
    """States whether a tool is on. `variant`, a metric label, is "on", "off" or the segment's name. `why` explains the
    decision to operators and does not name the user."""

    on: bool
    variant: str
    why: str


ON_BY_ITSELF = Decision(True, ON, "no flag names it, and it is on by itself")
OFF_BY_ITSELF = Decision(False, OFF, "no flag names it, and it is off by itself: an experiment")


def _holds(condition: Condition, principal: Principal) -> bool:
    known = caller_values(condition.about, principal)
    return bool(known) and known.isdisjoint(condition.values) is condition.negated


def _of_segment(tool: str, segment: Segment, user: str | None, session: str | None) -> Decision:
    key = cohort_key(user, session)
    on = in_share(tool, key, segment.rollout)
    whose = "the flag" if segment.name == ON else f"segment {segment.name!r}"
    where = "in" if on else "outside"
    if segment.rollout >= 100:
        why = f"{whose}: for everybody" + (" whom its conditions are about" if segment.conditions else "")
    elif key is None:
        why = f"{whose}: {segment.rollout:g} %, and there is neither user nor session to decide by"
    else:
        why = f"{whose}: {where} its {segment.rollout:g} %, by {'session' if user is None else 'user'}"
    return Decision(on, segment.name if on else OFF, why)


class Flags:
    """Decides whether tools are on, by the current `document`, which a `Follower` replaces. While `known` is False, no
    document has been read yet, and every tool is off."""

    def __init__(self, document: Document | None = None) -> None:
        self.document = document or Document()
        self.known = True

    def decide(self, tool: Tool, principal: Principal, session: str | None = None) -> Decision:
        """Decides whether a tool is on for a caller. Percentages are of users, or of sessions if no user is known. Without a
        session, as in lists of tools, they are of users only."""
        flag = self.document.flags.get(tool.name)
        if not self.known:
            return Decision(False, OFF, "no flags document is known yet")
        if flag is None:
            return ON_BY_ITSELF if tool.default_on else OFF_BY_ITSELF
        for segment in flag:
            if all(_holds(each, principal) for each in segment.conditions):
                return _of_segment(tool.name, segment, principal.user, session)
        return Decision(False, OFF, "none of the flag's segments applies" if flag else "the flag: off for everybody")

    def depends_on_user(self, tool: Tool) -> bool:
        flag = self.document.flags.get(tool.name)
        return bool(flag and (flag[0].conditions or flag[0].rollout not in (0, 100)))
