"""A shop that shares nothing with the demo, with its files and settings alone: a real server, asked by the official client."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from mcp_types import ReadResourceResult, TextContent, TextResourceContents

from tests.conversations.agent import Agent
from tests.conversations.script import Conversation, load
from tests.conversations.shelf import Shelf
from tests.conversations.shop import SdkLine
from tests.conversations.vocabulary import Vocabulary
from tests.second_shop.make import COVERS, DATA, files
from tests.support.answers import Answer, Json
from tests.support.cases import cases
from tests.support.clients import Connections, OfSdk
from tests.support.process import until
from tests.support.serving import ROOT, Serving, clean_environment, served
from tests.support.strands_agent import run_where_the_agent_runs

SHOP = "Halfmoon Books"
SETTINGS = {
    "MANGA_CATALOG_FILE": str(DATA / "catalog.jsonl.gz"),
    "MANGA_VOLUMES_FILE": str(DATA / "volumes.jsonl.gz"),
    "MANGA_ORDERS_FILE": str(DATA / "orders.jsonl.gz"),
    "MANGA_POLICIES_FILE": str(DATA / "policies.md"),
    "MANGA_TAGS_FILE": str(DATA / "tags.toml"),
    "MANGA_TITLE_PATTERN": "hb-[0-9]{5}",
    "MANGA_ORDER_PATTERN": r"HBK-\d{7}",
    "MANGA_SHOP_NAME": SHOP,
    "MANGA_CURRENCY": "USD",
    "MANGA_COVER_HOSTS": COVERS,
    "MANGA_CATALOG_URL": "embedded:",
    "MANGA_STORE_URL": "embedded:",
    "MANGA_EMBEDDER": "none",
}
"""As `infra/docs/your-shop.md` tells, and search by words alone, for a quick start."""
OWN, FOREIGN, NEVER = "HBK-4100037", "HBK-4100148", "HBK-9999999"
OWNER = "reader-17"
OF_THE_DEMO = (
    "MangaAssist",
    "jpy",
    "yen",
    "¥",
    "policies/payment",
    "MNG-",
    "manga-0",
    "demo",
    "Kanto",
    "Yu-Packet",
    "Berserk",
)


def lines(name: str) -> list[Json]:
    return [json.loads(line) for line in gzip.decompress((DATA / f"{name}.jsonl.gz").read_bytes()).splitlines()]


CATALOGUE: dict[str, Json] = {each["title_id"]: each for each in lines("catalog")}
VOLUMES = {title_id: list(sold) for title_id, sold in groupby(lines("volumes"), lambda each: str(each["title_id"]))}
SHELF = Shelf.of(CATALOGUE.values())
ORDERS: dict[str, Json] = {each["order_id"]: each for each in lines("orders")}


def conversations() -> list[Conversation]:
    return list(load(Path(__file__).parent / "conversations.toml", Vocabulary(SHELF, "usd")))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Serving]:
    with served(tmp_path_factory.mktemp("shop"), cache, **SETTINGS) as serving:
        yield serving


@pytest.fixture(scope="module")
def client(shop: Serving, tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[OfSdk]:
    opened = Connections(tmp_path_factory.mktemp("clients"), cache)
    try:
        held = opened.open("http-2025", shop.url)
        assert isinstance(held, OfSdk)
        yield held
    finally:
        opened.close()


def command(*words: str, cache: Path, settings: Mapping[str, str] = SETTINGS) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=ROOT, env=clean_environment(cache, settings), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


async def told_at_first(client: OfSdk) -> str:
    """All that a client is told before it calls anything: who this is, the tools, the prompts, the resources."""
    sdk, ask = client.sdk, client.held.ask
    listed = [await ask(each) for each in (sdk.list_tools(), sdk.list_prompts(), sdk.list_resources())]
    texts = [each.model_dump_json(by_alias=True) for each in (sdk.server_info, *listed)]
    return "\n".join([*texts, sdk.instructions or "", await prompt(client, "shopping_assistant")])


async def prompt(client: OfSdk, name: str, given: Mapping[str, str] | None = None) -> str:
    got = await client.held.ask(client.sdk.get_prompt(name, dict(given or {})))
    return "\n".join(each.content.text for each in got.messages if isinstance(each.content, TextContent))


def text_of(read: ReadResourceResult) -> str:
    (content,) = read.contents
    assert isinstance(content, TextResourceContents)
    return content.text


def found(answer: Answer) -> list[Json]:
    return [CATALOGUE[each["title_id"]] for each in answer.value["results"]]


def without_its_number(error: Json) -> Json:
    return {**error, "data": {**error["data"], "request_id": None}}


def test_the_files_are_what_the_script_makes() -> None:
    for name, text in files().items():
        assert gzip.decompress((DATA / name).read_bytes()).decode() == text, name
    assert sum(each.stat().st_size for each in DATA.iterdir()) <= 100 * 1024


def test_the_server_is_ready_with_the_shops_titles(shop: Serving) -> None:
    with urlopen(f"{shop.url}/readyz", timeout=30) as response:
        ready = json.load(response)
    assert ready["status"] == "ready"
    assert ready["dependencies"]["catalog"]["detail"] == "400 titles, searched by words"
    assert ready["dependencies"]["policies"]["detail"] == "3 topics in 1 languages"


@cases(
    ("query", "tags"),
    [
        ("cooking", {"cooking"}),
        ("love story", {"romance", "heartthrobs"}),
        ("railways", {"railways"}),
        ("something with trains in it", {"railways"}),
        ("ghost stories", {"hauntings"}),
        ("tea rooms", {"tea rooms"}),
    ],
)
async def test_theme_is_found_by_the_shops_synonyms_and_by_its_tag(query: str, tags: set[str], client: OfSdk) -> None:
    """Synonyms of the shop's own file, and a tag that no file knows, by its own name."""
    titles = found(await client.call("search_manga_catalog", {"query": query, "max_results": 10}))
    assert len(titles) == 10
    assert all(tags & set(each["tags"]) for each in titles)


@cases(
    ("query", "without", "wanted", "ruled_out"),
    [
        ("fantasy without romance", [], "fantasy", {"romance", "heartthrobs"}),
        ("fantasy", ["Romance"], "fantasy", {"romance", "heartthrobs"}),
        ("stories at work, no heartthrobs", [], None, {"romance", "heartthrobs"}),
        ("something to read, no haunted houses", [], None, {"hauntings"}),
        ("without tea rooms", [], None, {"tea rooms"}),
    ],
)
async def test_a_refusal_holds_for_lower_case_tags(
    query: str, without: list[str], wanted: str | None, ruled_out: set[str], client: OfSdk
) -> None:
    """Of all titles those are left that have what was wanted and nothing that was refused, however the shop writes it."""
    left = {
        title_id
        for title_id, each in CATALOGUE.items()
        if (wanted is None or wanted in each["tags"]) and not ruled_out & set(each["tags"])
    }
    answer = await client.call("search_manga_catalog", {"query": query, "without": without, "max_results": 10})
    assert answer.value["total"] == len(left) < len(CATALOGUE)
    assert {each["title_id"] for each in found(answer)} <= left
    assert all("(not obeyed)" not in each["condition"] for each in answer.value["understood"])


@cases(
    ("query", "without", "issued"),
    [
        ("fantasy from Lantern Row", [], lambda publisher: publisher == "Lantern Row"),
        ("fantasy published by Third Harbour", [], lambda publisher: publisher == "Third Harbour Press"),
        ("fantasy, not from Pelican & Moss", [], lambda publisher: publisher != "Pelican & Moss"),
        ("fantasy", ["Lantern Row"], lambda publisher: publisher != "Lantern Row"),
        ("Lantern Row以外のファンタジー", [], lambda publisher: publisher != "Lantern Row"),
    ],
)
async def test_a_publisher_is_asked_for_and_refused(
    query: str, without: list[str], issued: Callable[[str], bool], client: OfSdk
) -> None:
    left = {title_id for title_id, each in CATALOGUE.items() if "fantasy" in each["tags"] and issued(each["publisher"])}
    answer = await client.call("search_manga_catalog", {"query": query, "without": without, "max_results": 10})
    assert answer.value["total"] == len(left) < len(CATALOGUE)
    assert {each["title_id"] for each in found(answer)} <= left
    assert all("(not obeyed)" not in each["condition"] for each in answer.value["understood"])


async def test_a_publisher_that_is_not_sold_here_is_said_so(client: OfSdk) -> None:
    for query, words in (("cooking from Yen Press", "yen press"), ("Yen Press以外の料理漫画", "yen press以外")):
        told = (await client.call("search_manga_catalog", {"query": query})).value
        assert {"condition": f"{words} (not obeyed)", "from": words} in told["understood"]
        assert "No title here is recorded as from Yen Press. Say so; promise nothing of it." in told["note"]


async def test_what_no_table_knows_is_for_nobody_younger(client: OfSdk) -> None:
    answer = await client.call("search_manga_catalog", {"query": "for my niece who is ten", "max_results": 10})
    assert all("tea rooms" not in each["tags"] for each in found(answer))
    assert {each["condition"] for each in answer.value["understood"]} == {"for all ages"}


async def test_details_have_the_record_with_its_links(client: OfSdk) -> None:
    record = CATALOGUE["hb-00010"]
    told = (await client.call("get_manga_details", {"title_id": "hb-00010"})).value
    same = (
        "publisher",
        "edition_language",
        "cover_url",
        "product_url",
        "rating",
        "volumes",
        "status",
        "start_year",
        "genre",
    )
    assert {name: told[name] for name in same} == {name: record[name] for name in same}
    assert told["titles"] == {"en": record["title"]["en"], "romaji": None, "ja": None, "kana": None}
    assert told["price_usd"] == record["offers"][0]["price_usd"]


async def test_a_result_of_a_search_has_the_links_too(client: OfSdk) -> None:
    (first,) = (await client.call("search_manga_catalog", {"query": "paper meridian", "max_results": 1})).value["results"]
    assert first["product_url"] == "https://halfmoon.example/manga/hb-00010"
    assert first["cover_url"] == f"https://{COVERS}/hb-00010.jpg"


async def test_stock_says_which_volumes_are_missing(client: OfSdk) -> None:
    asked = list(CATALOGUE)[:20]
    told = (await client.call("check_inventory", {"title_ids": asked})).value
    assert told["not_found"] == []
    missing = {each["title_id"]: each["missing_volumes"] for each in told["items"]}
    assert missing == {title_id: [each["volume"] for each in VOLUMES[title_id] if not each["stock"]] for title_id in asked}
    assert any(missing.values())


async def test_volumes_are_those_of_the_file(client: OfSdk) -> None:
    told = (await client.call("find_volumes", {"title_id": "hb-00011"})).value
    same = ("volume", "isbn", "price_usd", "release_date")
    assert [{name: each[name] for name in same} for each in told["volumes"]] == [
        {name: each[name] for name in same} for each in VOLUMES["hb-00011"]
    ]


async def test_customers_see_their_own_orders(client: OfSdk) -> None:
    latest = (await client.call("lookup_order", {}, userId=OWNER)).value["orders"]
    assert {each["order_id"] for each in latest} == {name for name, each in ORDERS.items() if each["owner"] == OWNER}
    told = (await client.call("lookup_order", {"order_id": OWN.lower().replace("-", " ")}, userId=OWNER)).value
    assert (told["order_id"], told["status"]) == (OWN, "in_transit")
    for amount in ("subtotal_usd", "shipping_usd", "total_usd"):
        assert told[amount] == ORDERS[OWN][amount]
    for name in ("title", "unit_price_usd"):
        assert [each[name] for each in told["lines"]] == [each[name] for each in ORDERS[OWN]["lines"]]
    read = await client.held.ask(client.sdk.read_resource(f"manga://orders/{OWN}", meta={"com.mangaassist/userId": OWNER}))
    assert json.loads(text_of(read))["total_usd"] == ORDERS[OWN]["total_usd"]


@cases(
    ("asked", "most", "words"),
    [
        ({"query": "fantasy under $10"}, 9.99, "under $10"),
        ({"query": "fantasy, at most 9.99 dollars a volume"}, 9.99, "at most 9.99 dollars"),
        ({"query": "fantasy for 10 bucks or less"}, 10, "10 bucks or less"),
        ({"query": "fantasy 10ドル以内"}, 10, "10ドル以内"),
        ({"query": "fantasy", "max_price_usd": 9.99}, 9.99, "max_price_usd"),
    ],
)
async def test_a_most_is_said_in_dollars(asked: Json, most: float, words: str, client: OfSdk) -> None:
    answer = await client.call("search_manga_catalog", asked | {"max_results": 20})
    cheap = {of: each for of, each in CATALOGUE.items() if each["offers"][0]["price_usd"] <= most}
    assert answer.value["total"] == sum("fantasy" in each["tags"] for each in cheap.values())
    assert {each["title_id"] for each in answer.value["results"]} <= cheap.keys()
    assert all(each["price_usd"] == cheap[each["title_id"]]["offers"][0]["price_usd"] for each in answer.value["results"])
    understood = {each["condition"]: each["from"] for each in answer.value["understood"]}
    assert understood[f"at most ${most:.2f} a volume".replace(".00", "")] == words


@cases(("query", "words"), [("fantasy under 1000 yen", "under 1000 yen"), ("fantasy for €9", "€9")])
async def test_money_of_another_currency_is_not_taken_for_dollars(query: str, words: str, client: OfSdk) -> None:
    answer = await client.call("search_manga_catalog", {"query": query})
    assert answer.value["total"] == sum("fantasy" in each["tags"] for each in CATALOGUE.values())
    assert {"condition": f"{words} (not obeyed)", "from": words} in answer.value["understood"]


async def test_a_most_in_yen_is_no_argument_of_this_shop(client: OfSdk) -> None:
    error = (await client.call("search_manga_catalog", {"query": "fantasy", "max_price_jpy": 900})).error
    assert error["name"] == "VALIDATION_ERROR"
    assert "max_price_usd" in json.dumps(error["data"]["details"])


async def test_stock_names_the_price_in_dollars(client: OfSdk) -> None:
    (item,) = (await client.call("check_inventory", {"title_ids": ["hb-00010"]})).value["items"]
    price = CATALOGUE["hb-00010"]["offers"][0]["price_usd"]
    assert (item["price_usd"], [each["price_usd"] for each in item["formats"]]) == (price, [price])


async def test_the_gift_prompt_asks_for_a_most_in_dollars(client: OfSdk) -> None:
    told = await prompt(client, "find_a_gift", {"for_whom": "my aunt", "budget": "$12.50"})
    assert '"max_price_usd": 12.5' in told
    assert 'budget: "$12.50"' in told
    assert "Prices are in USD, price_usd for one volume ($7.70)" in told
    assert "価格はUSDで" in await prompt(client, "find_a_gift", {"for_whom": "母", "language": "ja"})


async def test_no_preview_of_the_demo_is_shown(cache: Path, tmp_path: Path) -> None:
    flags = tmp_path / "flags.json"
    flags.write_text('{"enable_manga_preview_tool": true}')
    with served(tmp_path, cache, **SETTINGS, MANGA_FLAGS_URL=flags.as_uri()) as serving:
        opened = Connections(tmp_path / "clients", cache)
        try:
            answer = await opened.open("http-2025", serving.url).call(
                "preview_manga_pages", {"title_id": "hb-00010", "volume": 1}
            )
        finally:
            opened.close()
    assert answer.error["name"] == "NOT_FOUND"
    assert "There is no preview of volume 1" in answer.error["message"]


async def test_a_cold_task_whose_search_hangs_has_the_titles_of_the_stores_records(cache: Path, tmp_path: Path) -> None:
    """Its Redis is new and empty, and OpenSearch takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = SETTINGS | {"MANGA_CATALOG_URL": f"http://127.0.0.1:{silent.getsockname()[1]}"}
        with served(tmp_path, cache, **settings) as serving:
            opened = Connections(tmp_path / "clients", cache)
            try:
                client = await asyncio.to_thread(opened.open, "http-2025", serving.url)
                found = await client.call("search_manga_catalog", {"query": "paper meridian"})
                liked = await client.call("get_recommendations", {"criteria": "trains", "count": 3})
            finally:
                opened.close()
    assert found.value["results"][0]["title_id"] == "hb-00010"
    assert (found.call["source"], found.call["fallback"]) == ("fallback", "cached_popular_manga")
    assert (liked.call["source"], liked.call["fallback"]) == ("fallback", "cached_trending_manga")
    assert all("railways" in CATALOGUE[each["title_id"]]["tags"] for each in liked.value["recommendations"])


async def test_anothers_order_is_as_one_that_never_was(client: OfSdk) -> None:
    assert ORDERS[FOREIGN]["owner"] != OWNER
    foreign = await client.call("lookup_order", {"order_id": FOREIGN}, userId=OWNER)
    never = await client.call("lookup_order", {"order_id": NEVER}, userId=OWNER)
    assert foreign.error["name"] == "NOT_FOUND"
    assert without_its_number(foreign.error) == without_its_number(never.error)


async def test_recommendations_are_the_shops_and_none_that_is_owned(client: OfSdk) -> None:
    asked = {"criteria": "a quiet story with trains", "count": 5}
    told = (await client.call("get_recommendations", asked, userId=OWNER)).value
    titles = [CATALOGUE[each["title_id"]] for each in told["recommendations"]]
    assert all("railways" in each["tags"] for each in titles)
    owned = {line["title_id"] for each in ORDERS.values() if each["owner"] == OWNER for line in each["lines"]}
    assert not owned & {each["title_id"] for each in titles}
    assert all(each["reason"] for each in told["recommendations"])


async def test_policies_are_the_shops_and_no_others(client: OfSdk) -> None:
    listed = await client.held.ask(client.sdk.list_resources())
    policies = {str(each.uri) for each in listed.resources if str(each.uri).startswith("manga://policies/")}
    assert policies == {f"manga://policies/{topic}" for topic in ("shipping", "returns", "gift-wrapping")}
    read = await client.held.ask(client.sdk.read_resource("manga://policies/gift-wrapping"))
    assert "a linocut of the moon, for $2 a parcel" in text_of(read)
    template = next(
        each
        for each in (await client.held.ask(client.sdk.list_resource_templates())).resource_templates
        if each.name == "policy"
    )
    assert template.description == "The shop's own text on one of: shipping, returns, gift-wrapping."
    assert "shipping, returns, gift-wrapping" in (client.sdk.instructions or "")
    asked = await client.call("search_manga_catalog", {"query": "what does shipping cost, shipping costs?"})
    assert "manga://policies/shipping, manga://policies/returns, manga://policies/gift-wrapping." in asked.value["note"]


async def test_the_prompt_names_the_shop_and_quotes_its_policies(client: OfSdk) -> None:
    text = await prompt(client, "shopping_assistant")
    assert text.startswith(f"You are the shopping assistant of {SHOP}")
    for words in ("our barn in Oregon", "within 30 days, unread", "a linocut of the moon"):
        assert words in text


async def test_nothing_that_a_client_is_told_is_of_the_demo(client: OfSdk) -> None:
    """Nor do the other prompts and the errors name it; who answers is the shop."""
    told = await told_at_first(client)
    told += await prompt(client, "find_a_gift", {"for_whom": "my aunt", "likes": "trains"})
    told += await prompt(client, "continue_a_series", {"title": "Paper Meridian", "last_volume": "2"})
    for tool, arguments in (
        ("lookup_order", {"order_id": "ORDER 5"}),
        ("get_manga_details", {"title_id": "Paper Meridian"}),
    ):
        told += json.dumps((await client.call(tool, arguments, userId=OWNER)).error)
    assert [word for word in OF_THE_DEMO if word in told] == []
    assert "HBK-1234567" in told
    assert "hb-12345" in told
    assert client.sdk.server_info.title == f"{SHOP} tools"


@cases("title_id", ["manga-002001", "hb-1", "Paper Meridian"])
async def test_an_id_of_another_pattern_asks_no_backend(title_id: str, client: OfSdk, shop: Serving) -> None:
    """It is refused before the session is opened, and so before anything is looked for; the model is told what to do first."""
    error = (await client.call("get_manga_details", {"title_id": title_id})).error
    assert error["name"] == "VALIDATION_ERROR"
    assert "call search_manga_catalog first" in error["message"]

    def logged() -> list[Json]:
        whole = shop.log.rpartition("\n")[0].splitlines()  # the last line may not be written to its end
        found = [json.loads(line.partition(" manga.calls ")[2]) for line in whole if " manga.calls " in line]
        return [each for each in found if each.get("call") == error["data"]["request_id"]]

    await until(lambda: bool(logged()), 5, "the line of the call, which a thread writes after the answer")
    (call,) = logged()
    assert (call["outcome"], call["budget_left_ms"]) == ("VALIDATION_ERROR", None)


async def test_no_demo_order_can_be_reached(client: OfSdk) -> None:
    user = "demo-user-1"
    assert (await client.call("lookup_order", {}, userId=user)).value["orders"] == []
    refused = await client.call("lookup_order", {"order_id": "MNG-DEMO1001"}, userId=user)
    assert refused.error["name"] == "VALIDATION_ERROR"


@pytest.mark.parametrize("conversation", conversations(), ids=lambda each: each.title)
async def test_a_conversation_ends_as_in_any_shop(conversation: Conversation, client: OfSdk) -> None:
    problems = await Agent(SdkLine(client), SHELF).play(conversation)
    assert not problems, "\n".join(problems)


def test_the_example_agent_talks_to_this_shop(shop: Serving) -> None:
    asked = ("-m", "infra.agent.agent", "--url", f"{shop.url}/sse", "--user", OWNER)
    done = run_where_the_agent_runs(*asked)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{OWN} (in transit)" in " ".join(done.stdout.split())
    assert not any(each in done.stdout for each in ("MangaAssist", "¥", "MNG-"))


def test_doctor_finds_all_well(shop: Serving, cache: Path) -> None:
    done = command("server", "doctor", "--json", cache=cache)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["well"] is True
    told = {each["name"]: each["detail"] for each in report["dependencies"]}
    assert told["policies"] == "3 topics in 1 languages"
    assert "'tea rooms' is in no table, on 28 titles" in told["catalog"]


def test_doctor_tells_what_was_forgotten(cache: Path) -> None:
    """Ids of no known pattern stop a start, and the demo's name would be told to the shop's customers."""
    forgotten = ("MANGA_TITLE_PATTERN", "MANGA_POLICIES_FILE", "MANGA_SHOP_NAME")
    some = {name: value for name, value in SETTINGS.items() if name not in forgotten}
    done = command("server", "doctor", "--json", cache=cache, settings=some)
    assert done.returncode == 1
    told: dict[str, Any] = {each["name"]: each for each in json.loads(done.stdout)["dependencies"]}
    assert "'hb-00001' is not of the shop's pattern" in told["catalog"]["detail"]
    assert told["catalog"]["remedy"] == "correct the file, or MANGA_TITLE_PATTERN"
    assert "until MANGA_POLICIES_FILE names yours" in told["policies"]["detail"]
    assert "MangaAssist is the demo shop's name" in told["policies"]["detail"]


@cases("currency", ["JPY", "USD"])
def test_a_file_in_another_currency_than_the_shops_is_told_line_by_line(currency: str, cache: Path, tmp_path: Path) -> None:
    """Yen by default: one that is forgotten is told, and so is a catalogue in two."""
    lines = [dict(CATALOGUE[f"hb-0000{each}"]) for each in (1, 2, 3)]
    lines[1]["offers"] = [{"format": "physical", "price_eur": 7.5}]
    lines[2]["currency"] = "EUR"
    file = tmp_path / "catalog.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in lines))
    settings = {"MANGA_CATALOG_FILE": str(file), "MANGA_TITLE_PATTERN": "hb-[0-9]{5}", "MANGA_CURRENCY": currency}
    done = command("infra.seed", "--dry-run", cache=cache, settings=settings)
    assert done.returncode == 2
    mend = "or state the shop's currency by MANGA_CURRENCY"
    amount = f"line 2: $.offers[0].price_eur is in another currency: write price_{currency.lower()}, {mend}"
    stated = f'line 3: $.currency must be {currency}, {mend} (it is "EUR")'
    assert [each for each in (amount, stated) if each not in done.stderr] == []
    assert ("line 1: " in done.stderr) == (currency == "JPY")


def test_a_dry_run_of_seed_reads_all_files_and_says_what_it_would_do(cache: Path) -> None:
    done = command("infra.seed", "--dry-run", cache=cache)
    assert done.returncode == 0, done.stderr
    sold = sum(map(len, VOLUMES.values()))
    assert f"400 titles, {sold:,} volumes, {len(ORDERS)} orders: every line can be used" in done.stdout
    assert "nothing to seed" in done.stdout
    assert "warning: tag 'tea rooms' is in no table, on 28 titles" in done.stderr


def test_the_smoke_test_asks_about_this_shop_s_own_titles(shop: Serving, tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "infra/smoke.sh", shop.url],
        cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert any(each["title"]["en"] in done.stdout for each in CATALOGUE.values())
