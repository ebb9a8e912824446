"""What clients that can show cards declare, and what they hold the answers to: the facts of the specification of MCP Apps
(2026-01-26), in the tests' own words."""

from __future__ import annotations

from typing import Any

NAME = "io.modelcontextprotocol/ui"
MIME_TYPE = "text/html;profile=mcp-app"
DECLARED: dict[str, Any] = {"mimeTypes": [MIME_TYPE]}
URIS = tuple(f"ui://manga/{name}" for name in ("search", "title", "stock", "order", "preview"))
OF_TOOLS = {
    "search_manga_catalog": "ui://manga/search",
    "get_recommendations": "ui://manga/search",
    "get_manga_details": "ui://manga/title",
    "check_inventory": "ui://manga/stock",
    "find_volumes": "ui://manga/stock",
    "lookup_order": "ui://manga/order",
    "preview_manga_pages": "ui://manga/preview",
}
"""Which page draws the results of which tool."""

_ADDRESS = {"type": "string", "pattern": "^ui://[^\\s]+$"}
_ORIGINS = {"type": "array", "items": {"type": "string"}}
_CSP_KEYS = ("connectDomains", "resourceDomains", "frameDomains", "baseUriDomains")
_META_OF_PAGE = {
    "type": "object",
    "properties": {
        "csp": {"type": "object", "properties": dict.fromkeys(_CSP_KEYS, _ORIGINS), "additionalProperties": False},
        "permissions": {
            "type": "object",
            "properties": dict.fromkeys(("camera", "microphone", "geolocation", "clipboardWrite"), {"type": "object"}),
            "additionalProperties": False,
        },
        "domain": {"type": "string"},
        "prefersBorder": {"type": "boolean"},
    },
    "additionalProperties": False,
}


def _with(meta: dict[str, Any], **properties: Any) -> dict[str, Any]:
    own = {"type": "object", "properties": {"ui": meta}, "required": ["ui"]}
    return {"type": "object", "properties": {**properties, "_meta": own}, "required": [*properties, "_meta"]}


LISTED_PAGE = _with(_META_OF_PAGE, uri=_ADDRESS, name={"type": "string"}, mimeType={"const": MIME_TYPE})
"""An entry of resources/list."""
READ_PAGE = _with(_META_OF_PAGE, uri=_ADDRESS, text={"type": "string", "minLength": 1}, mimeType={"const": MIME_TYPE})
"""A content of resources/read."""
LISTED_TOOL = _with(
    {
        "type": "object",
        "properties": {
            "resourceUri": _ADDRESS,
            "visibility": {"type": "array", "items": {"enum": ["model", "app"]}},
        },
        "required": ["resourceUri"],
        "additionalProperties": False,
    },
    name={"type": "string"},
)
"""An entry of tools/list that has a card."""

JUNK: dict[str, Any] = {
    "nothing": None,
    "a text": "text/html;profile=mcp-app",
    "a number": 7,
    "a list": [MIME_TYPE],
    "an empty object": {},
    "types as text": {"mimeTypes": MIME_TYPE},
    "no types": {"mimeTypes": []},
    "other types": {"mimeTypes": ["text/html", "TEXT/HTML;PROFILE=MCP-APP", f"{MIME_TYPE} "]},
    "types that are none": {"mimeTypes": [None, 1, [MIME_TYPE], {"type": MIME_TYPE}]},
    "types as an object": {"mimeTypes": {MIME_TYPE: True}},
    "deep": {"mimeTypes": [[[[[[[[[[]]]]]]]]]]},
}
"""What a client may say of the extension that is no declaration of it."""
