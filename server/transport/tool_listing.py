from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types.methods import serialize_server_result
from pydantic_core import to_json

from server.call import Principal
from server.identity.tool_access import ToolAccess
from session.begin import digest
from session.resilience.lru import Lru
from tools.contract import Tool
from tools.primitives.resource import Extension
from tools.schema.parts import Json

TTL_MS = 1000
MOST_FORMS = 256
"""Maximum cached list entries, one per tool; the least recently used are dropped."""
MOST_TEXTS = 32
"""Maximum cached lists, of some 20 KB each: one per protocol version and audience."""


def outline(schema: Any, depth: int = 0) -> Json:
    """Returns a shortened JSON Schema. Below the root (`depth` 0), leaves out `required`. More than one level below the
    root, reduces objects to their type."""
    if depth > 1 and schema.get("type") == "object":
        return {"type": "object"}
    short = dict(schema)
    if "properties" in schema:
        short["properties"] = {name: outline(each, depth + 1) for name, each in schema["properties"].items()}
    if depth:
        short.pop("required", None)
    if "items" in schema:
        short["items"] = outline(schema["items"], depth)
    return short


def listed_tool(tool: Tool) -> dict[str, Any]:
    """Returns the tool's entry in the list. The annotations omit the title, since the entry has it already."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": outline(tool.output_schema),
        "annotations": {hint: value for hint, value in tool.annotations.items() if hint != "title"},
    }


@dataclass(frozen=True, slots=True)
class Form:
    tool: Tool
    listed: Mapping[str, Any]
    digest: str


class ToolListing:
    """Lists the tools that a principal may use, in the registry's order, as one page. Caches the list entries and texts."""

    def __init__(self, access: ToolAccess) -> None:
        self._access = access
        self._forms: Lru[str, Form] = Lru(MOST_FORMS)
        self._texts: Lru[tuple[object, ...], bytes] = Lru(MOST_TEXTS)

    def result(self, principal: Principal, extensions: Sequence[Extension] = ()) -> dict[str, Any]:
        """Returns the list with the `_meta` of `extensions`. `cacheScope`: "private" if it depends on user or client."""
        is_extended = any(each.of_tools for each in extensions)
        is_private = self._access.depends_on_user() or principal.scopes is not None or is_extended
        return {
            "resultType": "complete",
            "tools": [_extend(self._form(tool).listed, extensions) for tool in self._access.list_tools(principal)],
            "ttlMs": TTL_MS,
            "cacheScope": "private" if is_private else "public",
        }

    def text(
        self, version: str, principal: Principal, extensions: Sequence[Extension] = (), meta: Mapping[str, Any] | None = None
    ) -> bytes:
        """Returns the result as JSON for a protocol version. All callers with the same list share the cached text."""
        result = self.result(principal, extensions)
        key = (version, result["cacheScope"], self.digest(principal), *map(id, extensions), to_json(meta))
        text = self._texts.use(key)
        if text is None:
            text = to_json(serialize_server_result("tools/list", version, result | ({"_meta": meta} if meta else {})))
            self._texts.put(key, text)
        return text

    def digest(self, principal: Principal) -> str:
        """Returns the digest of the principal's list, which covers the tools, their order and their entries."""
        return " ".join(self._form(tool).digest for tool in self._access.list_tools(principal))

    def _form(self, tool: Tool) -> Form:
        form = self._forms.use(tool.name)
        if form is None or form.tool is not tool:
            listed = listed_tool(tool)
            form = Form(tool, listed, digest(listed))
            self._forms.put(tool.name, form)
        return form


def _extend(listed: Mapping[str, Any], extensions: Sequence[Extension]) -> Mapping[str, Any]:
    meta = {key: value for each in extensions for key, value in each.of_tools.get(listed["name"], {}).items()}
    return {**listed, "_meta": meta} if meta else listed
