"""Values and nesting of a message are counted in its bytes: never fewer than a parser finds."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from server.config.settings import Settings
from server.transport.messages import DEEPEST, MOST_VALUES, TOO_DEEP, TOO_MANY, reason_too_large
from tests.support.cases import cases
from tests.support.fuzzing import examples
from tools.registry import Registry

BODY_BYTES = Settings().max_body_bytes
LEAVES = st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=8)
ODD = st.text('\\"[]{},:a\u00e9', max_size=12)
VALUES = st.recursive(LEAVES | ODD, lambda each: st.lists(each) | st.dictionaries(ODD, each), max_leaves=40)


def nested(depth: int, brackets: str = "[]") -> bytes:
    return (brackets[0] * depth + brackets[1] * depth).encode()


def counted(value: Any) -> tuple[int, int]:
    """Values and levels, as a parser finds them."""
    if not isinstance(value, list | dict):
        return 1, 0
    inner = [counted(each) for each in (value.values() if isinstance(value, dict) else value)]
    return 1 + sum(count for count, _ in inner), 1 + max((depth for _, depth in inner), default=0)


@cases(
    ("body", "wrong"),
    [
        (b"[" + b",".join([b"1"] * (MOST_VALUES - 1)) + b"]", None),
        (b"[" + b",".join([b"1"] * MOST_VALUES) + b"]", TOO_MANY),
        (b"[" + b",".join([b"[]"] * (MOST_VALUES - 1)) + b"]", None),
        (b"[" + b",".join([b"[]"] * MOST_VALUES) + b"]", TOO_MANY),
        (b"[" + b",".join([b'[""]'] * (MOST_VALUES // 2)) + b"]", TOO_MANY),
        (b"[" + b",".join([b"{ }"] * (MOST_VALUES - 1)) + b"]", None),
        (b"{" + b",".join([b'"":{}'] * MOST_VALUES) + b"}", TOO_MANY),
        (b"[" * (DEEPEST + 1) + b'""' * (2 * MOST_VALUES + 1), TOO_MANY),
        (b"[" * (DEEPEST + 1) + b'""' * (2 * MOST_VALUES), TOO_DEEP),
        (json.dumps({f"{number}": "x" for number in range(MOST_VALUES - 1)}).encode(), None),
        (json.dumps({f"{number}": "x" for number in range(MOST_VALUES)}).encode(), TOO_MANY),
        (b"[]" * MOST_VALUES, None),
        (b"[]" * (MOST_VALUES + 1), TOO_MANY),
        (nested(DEEPEST), None),
        (nested(DEEPEST, "{}"), None),
        (nested(DEEPEST + 1, "{}"), TOO_DEEP),
        (nested(DEEPEST + 1)[: DEEPEST + 1] + b"]" * MOST_VALUES, TOO_DEEP),
        (nested(DEEPEST + 1), TOO_DEEP),
        (nested(DEEPEST - 1) + b" " + nested(2), None),
        (b"[" * 100_000, TOO_MANY),
        (b"[]" * 100_000, TOO_MANY),
        (b"[" * (DEEPEST + 1) + b"]" * 100_000, TOO_MANY),
        (b'{"a":' * (DEEPEST + 1), TOO_DEEP),
        (b'"' * (5 * MOST_VALUES), None),
        (json.dumps({"text": "[" * 5000 + "," * 5000 + '"{\\'}).encode(), None),
        (json.dumps(['\\", [[[' * 300, "\\"]).encode(), None),
        (json.dumps([1, 2]).encode("utf-16"), "A message is JSON in UTF-8."),
        (json.dumps([1, 2]).encode("utf-32-be"), "A message is JSON in UTF-8."),
    ],
)
def test_excessive_message_is_refused_with_the_reason(body: bytes, wrong: str | None) -> None:
    """Brackets, commas and quotes inside texts do not count. What has few brackets and commas is left to the parser."""
    assert reason_too_large(body) == wrong


@given(value=st.lists(VALUES, max_size=6), copies=st.integers(1, 400), ascii_only=st.booleans(), spaced=st.booleans())
@example(value=["\\"], copies=300, ascii_only=True, spaced=False)
@examples(60)
def test_admitted_message_holds_no_more_values_and_levels_than_allowed(
    value: list[Any], copies: int, ascii_only: bool, spaced: bool
) -> None:
    """This holds for any spelling of the JSON; a message within the limits is admitted."""
    whole = [*value, *([[]] * copies)]
    data = json.dumps(whole, ensure_ascii=ascii_only, indent=1 if spaced else None).encode()
    values, depth = counted(whole)
    if reason_too_large(data) is None:
        assert values <= MOST_VALUES
        assert depth <= DEEPEST
    else:
        assert values > MOST_VALUES or depth > DEEPEST


@cases("tool", list(Registry()), ids=lambda tool: tool.name)
def test_longest_valid_arguments_fit_into_the_body_limit(tool: Any) -> None:
    """They are written as wastefully as JSON allows, beside the longest `_meta`."""
    arguments = longest(tool.input_schema)
    meta = {"baggage": "x" * 8192, "com.mangaassist/userToken": "x" * 8192, "com.mangaassist/userId": "\U0001f4da" * 255}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    body = json.dumps({**message, "params": {"name": tool.name, "arguments": arguments, "_meta": meta}}).encode()
    assert len(body) < BODY_BYTES
    assert reason_too_large(body) is None


def longest(schema: Any) -> Any:
    """The longest value that a schema admits: characters beyond the BMP, which take twelve bytes as escapes."""
    options = schema.get("anyOf", [schema])
    return max((_longest(each) for each in options), key=lambda value: len(json.dumps(value)))


def _longest(schema: Any) -> Any:
    match schema.get("type"):
        case "object":
            return {name: longest(each) for name, each in schema["properties"].items()}
        case "array":
            return [longest(schema["items"])] * schema["maxItems"]
        case "string" if "enum" not in schema:
            return "\U0001f4da" * schema.get("maxLength", 128)
        case _:
            return "x" * 30
