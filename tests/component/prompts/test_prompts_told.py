"""The prompts through the whole pipeline, with the official client of each era, as a model reads them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from server.call import Principal, RequestMetadata
from server.identity.request_metadata import TrustStated
from tests.support.cases import cases
from tests.support.inmemory import ERAS, LEGACY_WORDS, connected
from tests.support.pipeline import Kit, Opener
from tests.support.prompts import ERA, EVERYTHING, OWNER, named_tools, text_of
from tools.primitive_registry import PRIMITIVES
from tools.primitives.resource import Prompt
from tools.registry import TOOLS
from tools.results.shortening import estimate
from tools.store.models.order import LANGUAGES, TOPICS

pytestmark = [pytest.mark.virtual_time, pytest.mark.filterwarnings(LEGACY_WORDS)]

MOST_TOKENS = 2_500
FREE_TEXT = ("for_whom", "likes", "dislikes", "title")


@cases("era", ERAS)
async def test_four_prompts_are_listed_with_their_arguments(era: str, kit: Kit) -> None:
    async with connected(kit, era) as client:
        listed = {each.name: each for each in (await client.list_prompts()).prompts}
        assert set(EVERYTHING) <= set(listed)
        required = {name: [each.name for each in listed[name].arguments or () if each.required] for name in EVERYTHING}
        assert required == {
            "shopping_assistant": [],
            "find_a_gift": ["for_whom"],
            "continue_a_series": ["title"],
            "track_my_order": [],
        }
        assert all("language" in [each.name for each in listed[name].arguments or ()] for name in EVERYTHING)
        assert client.instructions is not None
        assert "Search before you answer" in client.instructions


@pytest.fixture
def wordy(tmp_path: Path) -> Path:
    """Policies of a shop that has more to say than there is room for."""
    texts = "- **くじら**を返す。\n\n- Whales are returned by the sea.\n" * 300
    file = tmp_path / "policies.md"
    file.write_text("".join(f"# {topic} {each}\n{texts}\n" for topic in TOPICS for each in LANGUAGES), "utf-8")
    return file


async def test_every_prompt_fits_its_token_limit_with_the_longest_content(wordy: Path, opener: Opener) -> None:
    """Every tool is on, and the policies and arguments have their maximum length."""
    kit: Kit = await opener(policies_file=wordy)
    async with connected(kit, ERA) as client:
        for name, given in EVERYTHING.items():
            long = {each: 'あ"漢字\n' * 400 if each in FREE_TEXT else value for each, value in given.items()}
            for language in LANGUAGES:
                text = await text_of(client, name, {**long, "language": language}, OWNER)
                assert estimate(text) <= MOST_TOKENS, (name, language)


@cases("language", LANGUAGES)
async def test_assistant_prompt_names_the_shop_and_its_policies(language: str, opener: Opener) -> None:
    kit: Kit = await opener(shop_name="Shelf & Sons")
    async with connected(kit, ERA) as client:
        text = await text_of(client, "shopping_assistant", {"language": language})
    assert "Shelf & Sons" in text.splitlines()[0]
    assert ("お届けから8日以内" if language == "ja" else "Within 8 days of delivery") in text
    assert [f"manga://policies/{topic}" in text for topic in TOPICS] == [True] * 4


@cases("language", LANGUAGES)
async def test_prompts_name_enabled_tools_only(language: str, kit: Kit) -> None:
    kit.switch()
    async with connected(kit, ERA) as client:
        for name, given in EVERYTHING.items():
            before = named_tools(await text_of(client, name, {**given, "language": language}, OWNER))
            assert before, "it has tools to name"
            assert not before & {"preview_manga_pages", "compare_prices"}, "experiments are off by themselves"
        kit.switch(preview_manga_pages=True, compare_prices=True)
        text = await text_of(client, "shopping_assistant", {"language": language})
        assert named_tools(text) >= {"preview_manga_pages", "compare_prices", "check_inventory"}
        kit.switch(**dict.fromkeys((tool.name for tool in TOOLS), False))
        for name, given in EVERYTHING.items():
            text = await text_of(client, name, {**given, "language": language}, OWNER)
            assert named_tools(text) == set(), name
            assert "{" not in text.replace('{"', ""), "and nothing is left of them"


async def test_prompt_names_a_tool_enabled_for_that_user_only(kit: Kit) -> None:
    first = {"property": "user", "operator": "in", "value": ["u"]}
    kit.switch(compare_prices={"segments": [{"name": "first", "conditions": [first]}]})
    async with connected(kit, ERA) as client:
        mine = await text_of(client, "shopping_assistant", meta=OWNER)
        theirs = await text_of(client, "shopping_assistant", meta={"com.mangaassist/userId": "v"})
    assert ("compare_prices" in mine, "compare_prices" in theirs) == (True, False)


@dataclass
class Granted(TrustStated):
    """Everybody has a token with this scope and no other."""

    scope: str

    async def identify(self, metadata: RequestMetadata, bearer: str | None) -> Principal:
        return Principal(scopes=frozenset({self.scope}))


async def test_prompts_follow_the_scopes_of_the_token(opener: Opener) -> None:
    for granted, prompts in (("lookup_order", set(EVERYTHING)), ("none", set(EVERYTHING) - {"track_my_order"})):
        kit: Kit = await opener(identifier=Granted(f"mcp:manga-tools:{granted}"))
        async with connected(kit, ERA) as client:
            assert {each.name for each in (await client.list_prompts()).prompts} == prompts
            assert named_tools(await text_of(client, "shopping_assistant")) == {granted} - {"none"}


@cases("language", LANGUAGES)
async def test_order_prompt_asks_an_anonymous_customer_to_sign_in(language: str, kit: Kit) -> None:
    """An order number does not replace the sign-in."""
    async with connected(kit, ERA) as client:
        text = await text_of(client, "track_my_order", {"order_id": "MNG-DEMO1001", "language": language})
    assert "lookup_order" not in text
    assert ("サインインをお願い" if language == "ja" else "ask the customer to sign in") in text


def test_order_prompt_has_the_scope_and_privacy_of_lookup_order() -> None:
    [track] = [each for each in PRIMITIVES if isinstance(each, Prompt) and each.name == "track_my_order"]
    look_up = next(tool for tool in TOOLS if tool.name == "lookup_order")
    assert (track.scope, track.personal) == (look_up.scope, look_up.personal)
