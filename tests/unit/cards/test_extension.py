"""The cards extension: how a client's declaration is read, and which metadata tools and pages get."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from jsonschema import Draft202012Validator

from tests.support.cards import DECLARED, JUNK, LISTED_PAGE, LISTED_TOOL, MIME_TYPE, NAME, OF_TOOLS, URIS
from tests.support.cases import cases
from tools.cards.extension import CARDS as PAGES
from tools.cards.extension import KEY, Card, accept_host, cards, describe_result, page, read_file
from tools.registry import TOOLS
from tools.store.models import Title

CARDS = cards()


def test_card_extension_has_the_name_uris_and_mime_type_of_the_specification() -> None:
    assert CARDS.name == NAME
    assert tuple(each.uri for each in CARDS.resources) == URIS
    assert {each.mime_type for each in CARDS.resources} == {MIME_TYPE}


@cases("more", [{}, {"features": ["streaming"]}, {"mimeTypes": ["text/uri-list", MIME_TYPE, None]}])
def test_host_that_declares_our_mime_type_is_accepted_whatever_else_it_declares(more: dict[str, Any]) -> None:
    assert accept_host({**DECLARED, **more}) == DECLARED


@cases("junk", JUNK.values(), ids=JUNK.keys())
def test_malformed_declaration_of_a_host_declares_nothing(junk: Any) -> None:
    assert accept_host(junk) is None


def test_each_card_belongs_to_registered_tools() -> None:
    assert set(CARDS.of_tools) <= {tool.name for tool in TOOLS}
    assert {name: meta["ui"]["resourceUri"] for name, meta in CARDS.of_tools.items()} == OF_TOOLS
    assert {each.uri: set(each.of_tools) for each in CARDS.resources} == {
        uri: {name for name, own in OF_TOOLS.items() if own == uri} for uri in URIS
    }


@cases("name", list(OF_TOOLS))
def test_meta_of_a_tool_names_its_card_in_the_current_and_the_older_form(name: str) -> None:
    meta = CARDS.of_tools[name]
    Draft202012Validator(LISTED_TOOL).validate({"name": name, "_meta": meta})
    assert meta["ui/resourceUri"] == meta["ui"]["resourceUri"]


@cases("of_card", CARDS.resources, ids=URIS)
def test_card_resource_declares_no_domain_and_no_permission(of_card: Any) -> None:
    listed = {"uri": of_card.uri, "name": of_card.name, "mimeType": of_card.mime_type, "_meta": of_card.meta}
    Draft202012Validator(LISTED_PAGE).validate(listed)
    assert set(of_card.meta["ui"]["csp"]) == {"connectDomains", "resourceDomains", "frameDomains", "baseUriDomains"}
    assert not any(of_card.meta["ui"]["csp"].values()), "no domain of any kind"
    assert "permissions" not in of_card.meta["ui"]
    assert (of_card.subscribable, of_card.ttl_ms, of_card.meta["ui"]["prefersBorder"]) == (False, 3_600_000, True)


@cases("card", PAGES, ids=lambda card: card.name)
def test_a_card_declares_the_tools_that_its_buttons_call(card: Card) -> None:
    script = read_file(f"{card.name}.js") or ""
    assert set(re.findall(r'isOn\("(\w+)"\)', script)) == set(card.buttons) <= {tool.name for tool in TOOLS}
    off = {tool.name for tool in TOOLS if not tool.default_on}.intersection(*[card.buttons])
    assert off <= {"preview_manga_pages"}, "which parts.js names as the one that is off by default"


def test_cards_with_covers_load_images_from_the_configured_hosts_alone() -> None:
    hosts = ["img.shop.example", "cdn.example:8443"]
    for card, each in zip(PAGES, cards(hosts).resources, strict=True):
        Draft202012Validator(LISTED_PAGE).validate(
            {"uri": each.uri, "name": each.name, "mimeType": MIME_TYPE, "_meta": each.meta}
        )
        own = ["https://img.shop.example", "https://cdn.example:8443"] if card.name in ("search", "title") else []
        assert each.meta["ui"]["csp"].pop("resourceDomains") == own
        assert not any(each.meta["ui"]["csp"].values())
        assert f"img-src {' '.join(['data:', *own])};" in page(card, hosts=hosts)


def a_store(popular: dict[str, str | None], named: dict[str, str]) -> Any:
    def japanese(ids: Sequence[str]) -> dict[str, str]:
        return {each: named[each] for each in ids if each in named}

    titles = {each: Title(each, ja=name) for each, name in popular.items()}
    index = SimpleNamespace(by_id=titles)
    return SimpleNamespace(popular=SimpleNamespace(index=index), names=SimpleNamespace(japanese=japanese))


def test_card_gets_the_japanese_names_of_sixty_titles_and_its_buttons() -> None:
    store = a_store({"a": "猫\u200b", "b": None, "c": "長" * 121}, {"d": "犬", "a": "狼\u202e"})
    result: dict[str, Any] = {
        "title_id": "a",
        "items": [{"title_id": "b"}, {"title_id": "c"}, {"title_id": 5}, "junk", {}],
        "lines": {"title_id": "d"},
        "volumes": [{"title_id": "d"}, {"title_id": "a"}],
    }
    names = {"a": "狼", "c": "長" * 120, "d": "犬"}
    assert describe_result(store, lambda name: True, "lookup_order", result) == {KEY: {"names": names}}
    assert describe_result(store, lambda name: True, "search_manga_catalog", result) == {
        KEY: {"tools": ["check_inventory", "get_recommendations"]}
    }
    assert describe_result(store, lambda name: name == "get_manga_details", "preview_manga_pages", {"title_id": "d"}) == {
        KEY: {"names": {"d": "犬"}, "tools": ["get_manga_details"]}
    }
    assert describe_result(store, lambda name: False, "get_manga_details", result) == {KEY: {"tools": []}}
    assert describe_result(store, lambda name: True, "classify_genre", result) == {}
    assert describe_result(store, lambda name: True, "find_volumes", {"items": None}) == {}
    many = a_store({}, {f"t{number}": "名" for number in range(99)})
    twice = [{"title_id": f"t{number}"} for number in range(99) for _ in range(2)]
    told = describe_result(many, lambda name: True, "find_volumes", {"items": twice})
    assert list(told[KEY]["names"]) == [f"t{number}" for number in range(60)]
