"""The MCP extension `io.modelcontextprotocol/ui` (MCP Apps, 2026-01-26). Each card is an HTML page in which a host renders
tool results."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import chain
from typing import Any

from tools.contract import Json, MayUse, ToolContext
from tools.primitives.resource import Contents, Extension, Resource
from tools.results.content import EmbeddedText
from tools.schema.text import remove_hidden
from tools.store.store import Store


@dataclass(frozen=True, slots=True)
class Card:
    """An HTML page that renders the results of `tools`. `name`: base name of its script and style, and last part of its URI.
    `parts`: base names of scripts and styles shared with other cards. `buttons`: tools that buttons on the page call."""

    name: str
    title: str
    description: str
    tools: tuple[str, ...]
    parts: tuple[str, ...] = ()
    buttons: tuple[str, ...] = ()

    @property
    def uri(self) -> str:
        return f"ui://manga/{self.name}"


SHARED = ("common", "words", "parts")
DRAWN = ("tags", "motifs", "cover")
CARDS = (
    Card(
        "search",
        "Titles to choose from",
        "Search results and recommendations as cards: title, author, readership, price, stock, and why.",
        ("search_manga_catalog", "get_recommendations"),
        (*SHARED, *DRAWN, "phrases"),
        ("check_inventory", "get_recommendations"),
    ),
    Card(
        "title",
        "About a manga",
        "One title with its volumes.",
        ("get_manga_details",),
        (*SHARED, *DRAWN, "volumes"),
        ("preview_manga_pages", "check_inventory"),
    ),
    Card(
        "stock",
        "In stock",
        "Which volumes of which titles there are.",
        ("check_inventory", "find_volumes"),
        (*SHARED, "volumes"),
    ),
    Card(
        "order",
        "Your order",
        "What has become of an order, and where its parcels are.",
        ("lookup_order",),
        (*SHARED, "parcels"),
    ),
    Card(
        "preview",
        "A look inside",
        "The first pages of a volume.",
        ("preview_manga_pages",),
        (*SHARED, "tags"),
        ("get_manga_details",),
    ),
)
BUTTONS = {tool: card.buttons for card in CARDS for tool in card.tools}


KEY = "com.mangaassist/card"
MOST_TITLES = 60
LONGEST = 120
TOOLS = ("check_inventory", "find_volumes", "lookup_order", "preview_manga_pages")
"""Tools whose results carry one name per title; the card data adds the Japanese name."""
PLACES = ("items", "lines", "volumes")
"""Result fields that hold lists of title rows."""


def describe_result(store: Store, may_use: MayUse, tool: str, result: Json) -> Json:
    """Returns {`KEY`: the data that a card needs beside a tool's result}; {} if the card needs none. The data has
    `names`, Japanese names by title id, and `tools`, those tools of the card's buttons that the caller may use."""
    names, buttons = _native_names(store, tool, result), BUTTONS.get(tool, ())
    beside: Json = {"names": names} if names else {}
    beside |= {"tools": [each for each in buttons if may_use(each)]} if buttons else {}
    return {KEY: beside} if beside else {}


def _native_names(store: Store, tool: str, result: Json) -> dict[str, str]:
    ids = list(dict.fromkeys(_list_title_ids(result)))[:MOST_TITLES] if tool in TOOLS else []
    popular = {each: title.ja for each in ids if (title := store.popular.index.by_id.get(each)) is not None and title.ja}
    return {each: remove_hidden(name)[:LONGEST] for each, name in {**popular, **store.names.japanese(ids)}.items()}


def _list_title_ids(result: Json) -> Iterator[str]:
    lists = [rows for place in PLACES if isinstance(rows := result.get(place), list)]
    for row in (result, *chain.from_iterable(lists)):
        if isinstance(row, dict) and isinstance(title_id := row.get("title_id"), str):
            yield title_id


FRAME, BRIDGE = "frame.css", "bridge.js"
ASIDE = re.compile(r"//.*|/\*(?:(?!\*/).)*\*/")
"""Matches a line that is only a comment. No line inside a multi-line string of a card file looks like a comment."""
POLICY = (
    "default-src 'none'; script-src 'sha256-{}'; style-src 'unsafe-inline'; img-src {}; base-uri 'none'; form-action 'none'"
)


def read_file(name: str) -> str:
    """Reads a file of the cards; "" if there is no such file, since not every part has a style."""
    file = files(__package__).joinpath(name)
    return file.read_text("utf-8") if file.is_file() else ""


def page(card: Card, hosts: Sequence[str] = ()) -> str:
    """Builds a card's HTML. `hosts`: hosts of cover images, over HTTPS. No file may contain "</", "<!--" or an invisible
    character, which would change the page or the script's hash."""
    style = _join_files(FRAME, *(f"{part}.css" for part in card.parts), f"{card.name}.css")
    script = _join_files(BRIDGE, *(f"{part}.js" for part in card.parts), f"{card.name}.js")
    script = f'\n(() => {{\n"use strict";\n{script}}})();\n'
    hashed = b64encode(sha256(script.encode()).digest()).decode()
    policy = POLICY.format(hashed, " ".join(["data:", *_list_origins(card, hosts)]))
    return "\n".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(card.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>",
            f'<main id="card"></main>\n<script>{script}</script>\n</body>\n</html>\n',
        )
    )


def _list_origins(card: Card, hosts: Sequence[str]) -> list[str]:
    return [f"https://{host}" for host in hosts] if "cover" in card.parts else []


def _join_files(*names: str) -> str:
    """Joins the files' lines, without indentation, blank lines and lines of comment."""
    lines = (line.strip() for name in names for line in read_file(name).splitlines())
    return "".join(f"{line}\n" for line in lines if line and not ASIDE.fullmatch(line))


NAME = "io.modelcontextprotocol/ui"
MIME_TYPE = "text/html;profile=mcp-app"
FLAT = "ui/resourceUri"
"""Metadata key for hosts that predate the specification."""
HOUR_MS = 3_600_000
"""Milliseconds that hosts may cache a card, which changes only with the server's version or settings."""
NOWHERE = ("connectDomains", "frameDomains", "baseUriDomains")


def cards(cover_hosts: Sequence[str] = ()) -> Extension:
    """Builds the extension with all cards. `cover_hosts`: the shop's hosts of cover images. Raises OSError for an unreadable
    file."""
    return Extension(
        name=NAME,
        understood=accept_host,
        of_result=describe_result,
        of_tools={tool: {"ui": {"resourceUri": card.uri}, FLAT: card.uri} for card in CARDS for tool in card.tools},
        resources=tuple(
            _make_resource(card, page(card, hosts=cover_hosts), _list_origins(card, cover_hosts)) for card in CARDS
        ),
    )


def accept_host(declared: Any) -> Json | None:
    kinds = declared.get("mimeTypes") if isinstance(declared, Mapping) else None
    return {"mimeTypes": [MIME_TYPE]} if isinstance(kinds, list) and MIME_TYPE in kinds else None


def _make_resource(card: Card, html: str, pictures: Sequence[str]) -> Resource:
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
        meta={"ui": {"csp": {"resourceDomains": pictures, **{each: [] for each in NOWHERE}}, "prefersBorder": True}},
        extension=NAME,
        of_tools=card.tools,
    )
