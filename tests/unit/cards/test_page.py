"""A card is one self-contained page; parts that would change its structure are refused."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from tests.support.cases import cases
from tools.cards.extension import CARDS, Card, page, read_file

NAMES = [card.name for card in CARDS]
ONE = Card("one", "One & all", "A card", (), ("shelf", "words"))
PARTS = {
    "frame.css": "frame{}\n",
    "shelf.css": "shelf{}",
    "one.css": "own{}",
    "bridge.js": "bridge();",
    "shelf.js": "shelf();",
    "words.js": "words();",
    "one.js": "own();\n\n",
}
ASKS = re.compile(
    r"\bfetch\s*\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|\bimport\s*\(|importScripts|\beval\b|new\s+Function|"
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\.src\s*=\s*[\"'`]http|window\.open|location\s*=|localStorage|"
    r"indexedDB|document\.cookie|navigator\.|RTCPeerConnection|\bWorker\b"
)
"""What takes a page out of its frame, or makes text of others part of the page."""
NAMESPACE = "http://www.w3.org/2000/svg"


def reading(**changed: str | None) -> Callable[[str], str | None]:
    return {**PARTS, **{name.replace("_", "."): text for name, text in changed.items()}}.get


class Outline(HTMLParser):
    """The tags of a page with their attributes, in their order, and what its scripts say."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script" and data.strip():
            self.scripts.append(data)


def test_parts_of_a_card_page_stand_in_their_order() -> None:
    html = page(ONE, reading())
    styles, scripts = ["frame{}", "shelf{}", "own{}"], ["bridge();", "shelf();", "words();", "own();"]
    order = ["<!doctype html>", "One &amp; all", *styles, '<main id="card">', *scripts, "</html>"]
    assert sorted(order, key=html.index) == order


@cases("name", [name for name in PARTS if name != "shelf.css"])
def test_missing_part_of_a_card_is_refused_by_file_name(name: str) -> None:
    with pytest.raises(ValueError, match=name.replace(".", r"\.")):
        page(ONE, reading(**{name.replace(".", "_"): None}))


@cases("name", [name.replace(".", "_") for name in PARTS])
@cases("inside", ["a </script> b", "a </STYLE> b", "a <!-- b"])
def test_part_that_would_close_its_own_style_or_script_tag_is_refused(name: str, inside: str) -> None:
    with pytest.raises(ValueError, match=name.replace("_", ".")):
        page(ONE, reading(**{name: inside}))


@cases("unseen", ["\u200b", "\u202e", "\ufeff", "\x00", "\ufe0f"])
def test_invisible_characters_in_a_part_are_refused(unseen: str) -> None:
    """Readers strip them, which would make it a script other than the one whose hash the page's policy allows."""
    with pytest.raises(ValueError, match="one"):
        page(ONE, reading(one_js=f"'{unseen}'"))


def test_page_beyond_the_size_limit_is_refused() -> None:
    room = 131_072 - len(page(ONE, reading(one_js="")))
    assert len(page(ONE, reading(one_js="x" * (room - 1)))) == 131_072
    with pytest.raises(ValueError, match="the card one has 131073 characters: 131072 is the most"):
        page(ONE, reading(one_js="x" * room))


def test_comment_lines_are_left_out_of_the_page() -> None:
    html = page(
        ONE, reading(one_js="  // why\n  /** Why. */\n  own(); // here\n\n    own(2);\n", frame_css="/* why */\nframe{}")
    )
    assert "\nown(); // here\nown(2);\n" in html
    assert "why\n" not in html
    assert "Why." not in html


def test_every_file_of_the_cards_folder_belongs_to_a_card() -> None:
    parts = {part for card in CARDS for part in card.parts}
    own = {f"{name}.{kind}" for name in NAMES for kind in ("css", "js")}
    styles = {f"{part}.css" for part in parts if read_file(f"{part}.css") is not None}
    there = {each.name for each in files("tools.cards").iterdir() if each.name.endswith((".css", ".html", ".js"))}
    assert there == {"bridge.js", "frame.css", *own, *styles, *(f"{part}.js" for part in parts)}


@cases("card", CARDS, ids=NAMES)
def test_policy_of_a_card_lets_only_its_own_script_run_by_its_hash(card: Card) -> None:
    outline = Outline(page(card))
    [script] = outline.scripts
    hashed = b64encode(sha256(script.encode()).digest()).decode()
    [policy] = [tag["content"] for name, tag in outline.tags if name == "meta" and "http-equiv" in tag]
    assert policy is not None
    stated = dict(each.split(" ", 1) for each in policy.split("; "))
    assert stated["default-src"] == "'none'"
    assert stated["script-src"] == f"'sha256-{hashed}'"
    assert stated["img-src"] == "data:"
    assert set(stated) == {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"}
    names = [name for name, _ in outline.tags]
    assert names.index("meta") < names.index("style") < names.index("script"), "a policy holds for what stands behind it"


@cases("card", CARDS, ids=NAMES)
def test_a_card_makes_no_request_and_writes_no_html(card: Card) -> None:
    html = page(card)
    assert ASKS.findall(html) == []
    addresses = re.findall(r"\b(?:https?|wss?|ftp|blob|file|javascript):[^\s\"'`)]*|(?<=[\"'`])//[a-z][^\s\"'`)]*", html)
    assert set(addresses) <= {NAMESPACE}, "which names a vocabulary and is no request"
    assert "@import" not in html
    assert re.findall(r"url\((?!\s*[\"']?(?:data:|#))", html.partition("<script>")[0]) == []
    outline = Outline(html)
    assert {tag for tag, _ in outline.tags}.isdisjoint({"link", "iframe", "object", "embed", "base", "form"})
    handlers = [name for _, attributes in outline.tags for name in attributes if name.startswith("on")]
    assert handlers == [], "no script stands in an attribute: the policy would not run it"
