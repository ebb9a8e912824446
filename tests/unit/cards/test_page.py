"""A card is one self-contained page; parts that would change its structure are refused."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files

from tests.support.cases import cases
from tools.cards.extension import ASIDE, CARDS, Card, page, read_file
from tools.schema.text import remove_hidden

NAMES = [card.name for card in CARDS]
FILES = sorted(each.name for each in files("tools.cards").iterdir() if each.name.endswith((".css", ".html", ".js")))
ENDS = re.compile(r"</|<!--", re.IGNORECASE)
"""What would end a script or a style early."""
ASKS = re.compile(
    r"\bfetch\s*\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|\bimport\s*\(|importScripts|\beval\b|new\s+Function|"
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\.src\s*=\s*[\"'`]http|window\.open|location\s*=|localStorage|"
    r"indexedDB|document\.cookie|navigator\.|RTCPeerConnection|\bWorker\b"
)
"""What takes a page out of its frame, or makes text of others part of the page."""
NAMESPACE = "http://www.w3.org/2000/svg"


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


@cases("card", CARDS, ids=NAMES)
def test_parts_of_a_card_page_stand_in_their_order(card: Card) -> None:
    html = page(card)
    files = [f"{name}.{kind}" for kind in ("css", "js") for name in ("frame", "bridge", *card.parts, card.name)]
    lines = [last_line(text) for file in files if (text := read_file(file))]
    assert len(lines) > len(card.parts) + 3
    places = [html.index(f"\n{line}\n") for line in lines]
    assert places == sorted(places)


def last_line(text: str) -> str:
    """The last line that occurs only once, and so tells the file's place."""
    lines = [line.strip() for line in text.splitlines()]
    return next(line for line in reversed(lines) if len(line) > 20 and not line.startswith(("//", "/*")))


@cases("file", FILES)
def test_no_file_of_a_card_ends_its_style_or_script_or_hides_characters(file: str) -> None:
    """Readers strip invisible characters, which would make it a script other than the one whose hash the policy allows."""
    text = read_file(file)
    assert ENDS.findall(text) == []
    assert text == remove_hidden(text)


@cases("card", CARDS, ids=NAMES)
def test_card_has_at_most_128_kibibytes(card: Card) -> None:
    """Hosts keep one copy per conversation."""
    assert len(page(card, hosts=["img.shop.example"])) <= 128 * 1024


@cases("card", CARDS, ids=NAMES)
def test_comment_lines_are_left_out_of_the_page(card: Card) -> None:
    assert [line for line in page(card).splitlines() if line.startswith(("//", "/*", " ")) or not line] == []


def test_code_between_comments_is_no_comment() -> None:
    assert ASIDE.fullmatch("/** a * b / c */")
    assert not ASIDE.fullmatch("/* a */ draw(); /* b */")


def test_every_file_of_the_cards_folder_belongs_to_a_card() -> None:
    parts = {part for card in CARDS for part in card.parts}
    own = {f"{name}.{kind}" for name in NAMES for kind in ("css", "js")}
    styles = {f"{part}.css" for part in parts if read_file(f"{part}.css")}
    assert set(FILES) == {"bridge.js", "frame.css", *own, *styles, *(f"{part}.js" for part in parts)}


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
