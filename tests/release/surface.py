"""The surface of a release: every name, schema and form that clients, operators and stored data rely on, as JSON."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from server.config.settings import DECLARED, ROOT
from server.identity import request_metadata
from server.results import HISTORY_KEY, META_KEY
from server.standby.bundle import LAYOUT
from session import keys
from session.history import SHARED, HistoryEntry
from session.profile import EventKind
from tools.primitive_registry import PRIMITIVES
from tools.primitives.resource import Prompt, Resource, ResourceTemplate
from tools.registry import TOOLS
from tools.resources.built_in import resources_of
from tools.store import failures
from tools.store.backends.dynamodb import items
from tools.store.backends.dynamodb.tables import TABLES
from tools.store.backends.opensearch.definition import FORMAT, _mappings
from tools.store.models.order import Policies
from tools.store.records.schemas import FILES, schema_of

Json = dict[str, Any]
SILENT = frozenset({"description", "title", "examples", "default"})
DIMENSIONS = 512
ATTRIBUTES = {
    "titles": ("TITLE_FIELDS",),
    "stock": ("STOCK_FIELDS", "_OFFER_FIELDS", "_VOLUME_FIELDS"),
    "releases": ("RELEASE_FIELDS",),
    "orders": ("ORDER_FIELDS", "PURCHASE_FIELDS", "LINE_FIELDS"),
    "profile": ("EVENT_FIELDS", "PREFERENCES_FIELDS"),
}


def surface() -> Json:
    """Everything that `tests/release/comparison.py` compares."""
    found = {
        "tools": {tool.name: {"input": bare(tool.input_schema), "output": bare(tool.output_schema)} for tool in TOOLS},
        "errors": dict(_errors()),
        "prompts": {each.name: _arguments(each) for each in PRIMITIVES if isinstance(each, Prompt)},
        "resources": _resources(),
        "metadata": _metadata(),
        "settings": sorted(DECLARED),
        "files": {file: bare(_inlined(schema_of(file))) for file in FILES},
        "redis": {"keys": dict(sorted(_keys())), "fields": dict(_fields())},
        "dynamodb": {table.name: _table(table) for table in TABLES},
        "opensearch": _index(),
        "standby": {"layout": LAYOUT},
    }
    return dict(json.loads(json.dumps(found)))


def bare(schema: Any) -> Any:
    """A schema without the words that decide nothing. Names of properties are kept, whatever they are."""
    if isinstance(schema, list):
        return [bare(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for word, value in schema.items():
        if word == "properties":
            kept[word] = {name: bare(each) for name, each in value.items()}
        elif word not in SILENT:
            kept[word] = bare(value)
    return kept


def _inlined(schema: Json) -> Json:
    """The schema with its definitions in the places that refer to them."""
    definitions = schema.pop("$defs", {})

    def inlined(part: Any) -> Any:
        if isinstance(part, list):
            return [inlined(each) for each in part]
        if not isinstance(part, dict):
            return part
        if reference := part.get("$ref"):
            return inlined(definitions[reference.rpartition("/")[2]])
        return {word: inlined(value) for word, value in part.items() if word != "$schema"}

    return dict(inlined(schema))


def _errors() -> Iterator[tuple[str, int]]:
    for each in vars(failures).values():
        if inspect.isclass(each) and issubclass(each, failures.Failure) and hasattr(each, "code"):
            yield each.name, each.code


def _arguments(prompt: Prompt) -> dict[str, bool]:
    """Whether each is required."""
    return {each.name: each.required for each in prompt.arguments}


def _resources() -> Json:
    everything = [*PRIMITIVES, *resources_of(Policies({("shipping", "en"): "shipping"}))]
    single = {each.uri: each.name for each in everything if isinstance(each, Resource)}
    return single | {each.uri_template.text: each.name for each in everything if isinstance(each, ResourceTemplate)}


def _metadata() -> list[str]:
    """Keys of `_meta` and headers that are read, and the keys that are answered."""
    source = inspect.getsource(request_metadata.read_metadata)
    read = re.findall(r'_first\(meta, "(\w+)", headers, "([\w-]+)"\)', source)
    named = [f"{request_metadata.PREFIX}{key}" for key in re.findall(r'PREFIX \+ "(\w+)"', source)]
    headers = re.findall(r'headers\.get\("([\w-]+)"\)', source)
    both = [text for key, header in read for text in (f"{request_metadata.PREFIX}{key}", header)]
    return sorted({*named, *headers, *both, META_KEY, HISTORY_KEY})


def _keys() -> Iterator[tuple[str, Any]]:
    """Each key of Redis as it is for sample values."""
    for name, each in vars(keys).items():
        if isinstance(each, str) and not name.startswith("_") and each.startswith(keys.PREFIX):
            yield name, each
        elif callable(each) and getattr(each, "__module__", "") == keys.__name__ and not inspect.isclass(each):
            names = inspect.signature(each).parameters
            yield name, each(*(name.upper() for name in names))
    yield "session", list(keys.SessionKeys.of("SESSION", "USER"))


def _fields() -> Iterator[tuple[str, list[str]]]:
    """Words of each script, which are the fields of its hashes and its answers; those of the history and of what is shared."""
    for script in sorted((ROOT / "session" / "scripts").glob("*.lua")):
        if words := sorted(set(re.findall(r"'([a-z_]{2,}:?)'", script.read_text("utf-8")))):
            yield script.stem, words
    yield "history", [each.name for each in fields(HistoryEntry)]
    yield "shared", sorted(SHARED)


def _table(table: Any) -> Json:
    indexes = {each.name: [each.partition_key, each.sort_key, *each.include] for each in table.indexes}
    return {
        "key": [table.partition_key, table.sort_key],
        "indexes": indexes,
        "ttl": table.ttl,
        "attributes": _attributes(table.name),
    }


def _attributes(table: str) -> list[str]:
    """Those that adapters ask for by name."""
    found = {each for name in ATTRIBUTES[table] for each in getattr(items, name)}
    return sorted(found | ({f"kind={each.value}" for each in EventKind} if table == "profile" else set()))


def _index() -> Json:
    """The format of the documents, and the fields that servers search and read."""
    return {"format": FORMAT, "fields": _flat(_mappings(DIMENSIONS, serverless=False)["properties"])}


def _flat(properties: Json, inside: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, rule in properties.items():
        found[f"{inside}{name}"] = rule["type"]
        found |= _flat(rule.get("properties", {}), f"{inside}{name}.")
    return found
