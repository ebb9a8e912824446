"""The tools as clients are told of them."""

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

ROW = 1
"""How deep names go: those of the root, and of what lies in it."""


def outline(schema: Any, depth: int = 0) -> Json:
    if depth > ROW and schema.get("type") == "object":
        return {"type": "object"}
    told = dict(schema)
    if "properties" in schema:
        told["properties"] = {name: outline(each, depth + 1) for name, each in schema["properties"].items()}
    if depth:
        told.pop("required", None)
    if "items" in schema:
        told["items"] = outline(schema["items"], depth)
    return told


TTL_MS = 1000
MOST_FORMS = 256
"""Tools of which what is said is remembered; of more it is worked out each time."""
MOST_TEXTS = 32
"""Lists, each of some 20 KB: versions of the protocol, and who is answered alike."""


@dataclass(frozen=True, slots=True)
class Form:
    """What is said of a tool, and what stands for it."""

    tool: Tool
    listed: Mapping[str, Any]
    digest: str


class ToolListing:
    """What `tools/list` answers."""

    def __init__(self, access: ToolAccess) -> None:
        self._access = access
        self._forms: Lru[str, Form] = Lru(MOST_FORMS)
        self._texts: Lru[tuple[object, ...], bytes] = Lru(MOST_TEXTS)

    def result(self, principal: Principal, extensions: Sequence[Extension] = ()) -> dict[str, Any]:
        """Lists what this principal may use, in the registry's order, as one page, with what `extensions` say of it.
        `cacheScope` is private when what is listed depends on the user, or is not for every client."""
        private = self._access.depends_on_user() or principal.scopes is not None or bool(extensions)
        return {
            "resultType": "complete",
            "tools": [_extended(self._form(tool).listed, extensions) for tool in self._access.listed(principal)],
            "ttlMs": TTL_MS,
            "cacheScope": "private" if private else "public",
        }

    def text(
        self, version: str, principal: Principal, extensions: Sequence[Extension] = (), meta: Mapping[str, Any] | None = None
    ) -> bytes:
        """Writes the same for a version of the protocol, once for all who are answered alike."""
        said = self.result(principal, extensions)
        alike = (version, said["cacheScope"], self.digest(principal), *map(id, extensions), to_json(meta))
        text = self._texts.use(alike)
        if text is None:
            text = to_json(serialize_server_result("tools/list", version, said | ({"_meta": meta} if meta else {})))
            self._texts.put(alike, text)
        return text

    def digest(self, principal: Principal) -> str:
        """Stands for what is listed for this principal: which tools, in which order, and all that is said of them."""
        return " ".join(self._form(tool).digest for tool in self._access.listed(principal))

    def _form(self, tool: Tool) -> Form:
        """Worked out once for each tool that takes the name."""
        form = self._forms.use(tool.name)
        if form is None or form.tool is not tool:
            listed = listed_tool(tool)
            form = Form(tool, listed, digest(listed))
            self._forms.put(tool.name, form)
        return form


def _extended(listed: Mapping[str, Any], extensions: Sequence[Extension]) -> Mapping[str, Any]:
    """The same with what extensions say of this tool, if they do."""
    meta = {key: value for each in extensions for key, value in each.of_tools.get(listed["name"], {}).items()}
    return {**listed, "_meta": meta} if meta else listed


def listed_tool(tool: Tool) -> dict[str, Any]:
    """What is said of a tool: its title once, since what reads only that of the annotations goes by the name."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": outline(tool.output_schema),
        "annotations": {hint: value for hint, value in tool.annotations.items() if hint != "title"},
    }
