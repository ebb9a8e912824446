"""Tells how a surface differs from an earlier one other than by addition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Json = dict[str, Any]
MEND = (
    "Keep it, also beside what replaces it, and say in CHANGELOG.md until when;"
    " else raise CONTRACT (server/version.py), say so there, and write the release anew: python -m tests.release.write"
)
LEAST, MOST = ("minimum", "minLength", "minItems"), ("maximum", "maxLength", "maxItems")


def differences(before: Json, now: Json) -> list[str]:
    """One line for each thing that is gone, narrower or otherwise; none for what was added."""
    return list(_compared(before, now))


def _compared(before: Json, now: Json) -> Iterator[str]:
    for name in before["tools"]:
        if name not in now["tools"]:
            yield f"the tool {name} is gone"
            continue
        then, here = before["tools"][name], now["tools"][name]
        yield from narrowed(then["input"], here["input"], f"{name}, argument ")
        yield from lost(then["output"], here["output"], f"{name}, result ")
    yield from _same(before["errors"], now["errors"], "the error code ")
    yield from _prompts(before["prompts"], now["prompts"])
    yield from _same(before["resources"], now["resources"], "the resource ")
    yield from _gone(before["metadata"], now["metadata"], "the key or header ")
    yield from _gone(before["settings"], now["settings"], "the setting ")
    for file, schema in before["files"].items():
        yield from narrowed(schema, now["files"][file], f"the {file} file, field ")
    yield from _same(before["redis"]["keys"], now["redis"]["keys"], "the form of Redis's key ")
    for kind, fields in before["redis"]["fields"].items():
        yield from _gone(fields, now["redis"]["fields"].get(kind, ()), f"in Redis, {kind}, the field ")
    for table, form in before["dynamodb"].items():
        yield from _table(form, now["dynamodb"].get(table), f"the table {table}")
    if before["opensearch"]["format"] != now["opensearch"]["format"]:
        yield "the index has another format, which servers of the last release cannot read"
    yield from _same(before["opensearch"]["fields"], now["opensearch"]["fields"], "the index's field ")
    yield from _same(before["standby"], now["standby"], "the standby bundle's ")


def _gone(before: Sequence[str], now: Any, what: str) -> Iterator[str]:
    return (f"{what}{each} is gone" for each in before if each not in now)


def _same(before: Mapping[str, Any], now: Mapping[str, Any], what: str) -> Iterator[str]:
    for name, value in before.items():
        if name not in now:
            yield f"{what}{name} is gone"
        elif now[name] != value:
            yield f"{what}{name} was {value} and is {now[name]}"


def _prompts(before: Json, now: Json) -> Iterator[str]:
    for name, arguments in before.items():
        if name not in now:
            yield f"the prompt {name} is gone"
            continue
        yield from _gone(arguments, now[name], f"the prompt {name}, argument ")
        for argument, required in now[name].items():
            if required and not arguments.get(argument, False):
                yield f"the prompt {name}, argument {argument} is required, and was not"


def _table(before: Json, now: Json | None, what: str) -> Iterator[str]:
    if now is None:
        yield f"{what} is gone"
        return
    if before["key"] != now["key"] or before["ttl"] != now["ttl"]:
        yield f"{what} has another key or another attribute with its end"
    yield from _gone(before["attributes"], now["attributes"], f"{what}, attribute ")
    for name, columns in before["indexes"].items():
        there = now["indexes"].get(name)
        if there is None or columns[:2] != there[:2] or not set(columns[2:]) <= set(there[2:]):
            yield f"{what}, index {name} is gone, or lacks what it had"


def narrowed(before: Json, now: Json, path: str) -> Iterator[str]:
    """Values that the earlier schema of an input allows and this one does not."""
    yield from _each_branch(before, now, path, narrowed)
    if types(before) and (gone := types(before) - types(now)) and types(now):
        yield f"{path}is no longer of type {', '.join(sorted(gone))}"
    elif not types(before) and types(now):
        yield f"{path}has to be of type {', '.join(sorted(types(now)))}, and had not"
    if "const" in now and now["const"] != before.get("const"):
        yield f"{path}has to be {now['const']}, and had not"
    if "enum" in now and ("enum" not in before or (set(map(str, before["enum"])) - set(map(str, now["enum"])))):
        yield f"{path}takes fewer values: {now['enum']}"
    for word in LEAST:
        if word in now and now[word] > before.get(word, float("-inf")):
            yield f"{path}has a {word} of {now[word]}, and had {before.get(word, 'none')}"
    for word in MOST:
        if word in now and now[word] < before.get(word, float("inf")):
            yield f"{path}has a {word} of {now[word]}, and had {before.get(word, 'none')}"
    if "pattern" in now and now["pattern"] != before.get("pattern"):
        yield f"{path}has the pattern {now['pattern']}, and had {before.get('pattern', 'none')}"
    for name, rule in before.get("properties", {}).items():
        if name in now.get("properties", {}):
            yield from narrowed(rule, now["properties"][name], f"{path}{name} ")
        else:
            yield f"{path}{name} is gone"
    for name in now.get("required", ()):
        if name not in before.get("required", ()):
            yield f"{path}{name} is required, and was not"
    if "items" in now:
        yield from narrowed(before.get("items", {}), now["items"], f"{path}[] ")


def lost(before: Json, now: Json, path: str) -> Iterator[str]:
    """What readers of the earlier results rely on, and these no longer promise."""
    yield from _each_branch(before, now, path, lost)
    if types(before) and (more := types(now) - types(before) or (set() if types(now) else {"anything"})):
        yield f"{path}may be {', '.join(sorted(more))}, and could not"
    if "enum" in before and "enum" not in now:
        yield f"{path}may be anything, and was one of {before['enum']}"
    for name, rule in before.get("properties", {}).items():
        if name in now.get("properties", {}):
            yield from lost(rule, now["properties"][name], f"{path}{name} ")
        else:
            yield f"{path}{name} is gone"
    for name in before.get("required", ()):
        if name not in now.get("required", ()):
            yield f"{path}{name} may be missing, and could not"
    if "items" in before:
        yield from lost(before["items"], now.get("items", {}), f"{path}[] ")


Compare = Callable[[Json, Json, str], Iterator[str]]


def _each_branch(before: Json, now: Json, path: str, compare: Compare) -> Iterator[str]:
    """Branches of `anyOf` but those that only name a type, in their order: new ones are behind the old."""
    there, here = _branches(before), _branches(now)
    if len(here) < len(there):
        yield f"{path}has fewer forms"
    for then, each in zip(there, here, strict=False):
        yield from compare(then, each, path)


def _branches(schema: Json) -> list[Json]:
    return [each for each in schema.get("anyOf", ()) if set(each) != {"type"}]


def types(schema: Json) -> set[str]:
    """Those that a schema names, in itself or in the branches that name nothing else. An integer is a number."""
    named = schema.get("type", ())
    found = {named} if isinstance(named, str) else set(named)
    found |= {kind for each in schema.get("anyOf", ()) if set(each) == {"type"} for kind in types(each)}
    return found | ({"integer"} if "number" in found else set())
