"""The extension `io.modelcontextprotocol/ui` (MCP Apps, 2026-01-26) as this store speaks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.cards.card import CARDS, Card
from tools.cards.names import native_names
from tools.cards.page import page
from tools.contract import ToolContext
from tools.primitives.extension import Extension, Json
from tools.primitives.resource import Contents, Resource
from tools.results.content import EmbeddedText

NAME = "io.modelcontextprotocol/ui"
MIME_TYPE = "text/html;profile=mcp-app"
FLAT = "ui/resourceUri"
"""Where hosts older than the specification look for a tool's card."""
HOUR_MS = 3_600_000
"""A card changes with the server's version alone."""
NOWHERE = ("connectDomains", "resourceDomains", "frameDomains", "baseUriDomains")


def cards() -> Extension:
    """Reads the cards' files and makes a page of each. Raises OSError, and ValueError for a file that cannot be one."""
    return Extension(
        name=NAME,
        understood=understood,
        of_result=native_names,
        of_tools={tool: _meta_of_tool(card) for card in CARDS for tool in card.tools},
        resources=tuple(_resource(card, page(card)) for card in CARDS),
    )


def understood(declared: Any) -> Json | None:
    """A host says which kinds of page it shows: it is one for cards where ours is among them."""
    kinds = declared.get("mimeTypes") if isinstance(declared, Mapping) else None
    return {"mimeTypes": [MIME_TYPE]} if isinstance(kinds, list) and MIME_TYPE in kinds else None


def _meta_of_tool(card: Card) -> Json:
    return {"ui": {"resourceUri": card.uri}, FLAT: card.uri}


def _resource(card: Card, html: str) -> Resource:
    async def read(context: ToolContext, given: Mapping[str, str]) -> Contents:
        return [EmbeddedText(card.uri, html, MIME_TYPE)]

    return Resource(
        uri=card.uri,
        name=f"card_{card.name}",
        title=card.title,
        description=card.description,
        handler=read,
        mime_type=MIME_TYPE,
        ttl_ms=HOUR_MS,
        subscribable=False,
        meta={"ui": {"csp": {domains: [] for domains in NOWHERE}, "prefersBorder": True}},
        extension=NAME,
        of_tools=card.tools,
    )
