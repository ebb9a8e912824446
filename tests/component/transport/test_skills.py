"""`io.modelcontextprotocol/skills` through the whole pipeline, with the official client of each era, as a host loads one."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import mcp_types as types
import pytest
import yaml
from mcp.client import Client, advertise
from mcp.shared.exceptions import MCPError

from tests.support.cases import cases
from tests.support.inmemory import ERAS, LEGACY_WORDS, connected
from tests.support.pipeline import Kit, Opener
from tests.support.prompts import OWNER, named_tools, text_of
from tools.registry import TOOLS
from tools.skills.text import rules, served_skills, skills

pytestmark = [pytest.mark.virtual_time, pytest.mark.filterwarnings(LEGACY_WORDS)]

SKILLS = served_skills()
NAME = "io.modelcontextprotocol/skills"
SELLING = "skill://selling/SKILL.md"
MOST_FILES, MOST_BYTES = 512, 16 * 1024 * 1024
"""Of one skill, as the specification has it."""
Json = dict[str, Any]


@pytest.fixture
async def kit(opener: Opener) -> Kit:
    own: Kit = await opener(extensions=(SKILLS,))
    return own


class Asked(types.Request[types.RequestParams, str]):
    """A method that the SDK does not know."""

    params: Any


class Answered(types.Result, extra="allow"):
    pass


async def ask(client: Client, method: str, meta: Json | None = None, **params: Any) -> Json:
    request = Asked(method=method, params={**params, **({"_meta": meta} if meta else {})})
    answer = await client.session.send_request(request, Answered)  # type: ignore[arg-type]
    return answer.model_dump(by_alias=True, mode="json", exclude_none=True)


async def read(client: Client, uri: str, meta: Any = None) -> str:
    [content] = (await client.read_resource(uri, meta=meta)).contents
    assert isinstance(content, types.TextResourceContents)
    assert content.mime_type == "text/markdown"
    return content.text


@cases("era", ERAS)
async def test_server_declares_the_skills_extension_and_resources(era: str, kit: Kit) -> None:
    async with connected(kit, era) as client:
        declared = client.server_capabilities
        assert declared.extensions == {NAME: {}}
        assert declared.resources is not None
        topic = types.ResourceTemplateReference(uri="manga://policies/{topic}")
        proposed = await client.complete(topic, {"name": "topic", "value": "pa"})
        assert proposed.completion.values == ["payment"], "only the answer to `initialize` is completed"


@cases("era", ERAS)
async def test_listed_skills_match_their_files_by_digest_size_and_front_matter(era: str, kit: Kit) -> None:
    """The list is complete, and has no other file."""
    async with connected(kit, era) as client:
        listed = await ask(client, "skills/list")
        assert (listed["ttlMs"] > 0, listed["cacheScope"]) == (True, "private")
        assert listed.get("resultType") == "complete"
        assert [each["frontmatter"]["name"] for each in listed["skills"]] == list(skills())
        for entry in listed["skills"]:
            got = await ask(client, "skills/get", uri=entry["uri"])
            assert got["skill"] == entry
            assert got["cacheScope"] == "private"
            root = entry["uri"].removesuffix("/SKILL.md")
            assert root.endswith(f"/{entry['frontmatter']['name']}")
            assert entry["uri"] in [each["uri"] for each in entry["resources"]]
            assert len(entry["resources"]) <= MOST_FILES
            assert sum(each["size"] for each in entry["resources"]) <= MOST_BYTES
            for file in entry["resources"]:
                text = await read(client, file["uri"])
                assert file["uri"].startswith(f"{root}/")
                assert len(text.encode()) == file["size"]
                assert f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" == file["digest"]
            loaded = await read(client, entry["uri"])
            assert yaml.safe_load(loaded.split("---\n")[1]) == entry["frontmatter"]
            for beside in re.findall(r"\]\((.+?)\)", loaded):
                assert f"{root}/{beside}" in [each["uri"] for each in entry["resources"]]


@cases("era", ERAS)
async def test_unknown_skill_is_refused(era: str, kit: Kit) -> None:
    async with connected(kit, era) as client:
        for uri in ("skill://selling", "skill://selling/references/ja.md", "manga://profile", "skill://x/SKILL.md"):
            with pytest.raises(MCPError, match="There is no such skill") as refused:
                await ask(client, "skills/get", uri=uri)
            assert (refused.value.code, refused.value.data["name"]) == (types.INVALID_PARAMS, "NOT_FOUND")
        for params in ({}, {"uri": 7}, {"uri": "x" * 3000}):
            with pytest.raises(MCPError) as refused:
                await ask(client, "skills/get", **params)
            assert refused.value.code == types.INVALID_PARAMS
        with pytest.raises(MCPError, match="one page"):
            await ask(client, "skills/list", cursor="2")
        with pytest.raises(MCPError) as refused:
            await read(client, "skill://selling/references/fr.md")
        assert refused.value.code == types.INVALID_PARAMS


@cases("era", ERAS)
async def test_client_without_the_skills_extension_sees_no_skill_files(era: str, kit: Kit) -> None:
    """Clients with it list the files; the tools are the same bytes for both."""
    async with connected(kit, era) as plain, connected(kit, era, extensions=[advertise(NAME, {})]) as host:
        listed = [{str(each.uri) for each in (await client.list_resources()).resources} for client in (plain, host)]
        assert not [each for each in listed[0] if each.startswith("skill:")]
        files = {f"skill://{name}/{file}" for name in skills() for file in ("SKILL.md", "references/ja.md")}
        assert listed[1] - listed[0] == files
        assert (await plain.list_tools()).model_dump_json() == (await host.list_tools()).model_dump_json()


async def test_skills_name_enabled_tools_only(kit: Kit) -> None:
    """The listed digest is that of the present files."""
    kit.switch()
    async with connected(kit, "auto") as client:
        for switched in ({}, {"compare_prices": True}, {"lookup_order": False}):
            kit.switch(**switched)
            texts = await read_all(client)
            allowed = {each.name for each in (await client.list_tools()).tools}
            assert named_tools("\n".join(texts)) <= allowed
        assert "compare_prices" not in "".join(texts)
        kit.switch(**dict.fromkeys((tool.name for tool in TOOLS), False))
        for text in await read_all(client):
            assert named_tools(text) == set()
            assert "{" not in text


async def test_skill_names_a_tool_enabled_for_that_user_only(kit: Kit) -> None:
    first = {"property": "user", "operator": "in", "value": ["u"]}
    kit.switch(compare_prices={"segments": [{"name": "first", "conditions": [first]}]})
    async with connected(kit, "auto") as client:
        mine = await read(client, "skill://prices/SKILL.md", OWNER)
        theirs = await read(client, "skill://prices/SKILL.md", {"com.mangaassist/userId": "v"})
        entry = (await ask(client, "skills/get", OWNER, uri="skill://prices/SKILL.md"))["skill"]
    assert ("compare_prices" in mine, "compare_prices" in theirs) == (True, False)
    assert f"sha256:{hashlib.sha256(mine.encode()).hexdigest()}" == entry["resources"][0]["digest"]


async def read_all(client: Client) -> list[str]:
    listed = (await ask(client, "skills/list"))["skills"]
    return [await read(client, file["uri"]) for entry in listed for file in entry["resources"]]


async def test_skills_name_the_topics_of_the_shop(opener: Opener, tmp_path: Any) -> None:
    file = tmp_path / "policies.md"
    file.write_text("# gift-wrapping en\n\nWe wrap.\n", "utf-8")
    kit: Kit = await opener(extensions=(SKILLS,), shop_name="Shelf & Sons", policies_file=file)
    async with connected(kit, "auto") as client:
        texts = "".join(await read_all(client))
    assert "gift-wrapping" in texts
    assert "MangaAssist" not in texts
    assert "manga://policies/shipping" not in texts


@cases("language", ["en", "ja"])
async def test_every_rule_of_the_assistant_prompt_is_in_a_skill(language: str, kit: Kit) -> None:
    """For one caller each rule of the prompt is a section of a skill, word for word."""
    async with connected(kit, "auto") as client:
        prompt = await text_of(client, "shopping_assistant", {"language": language})
        loaded = "\n".join(await read_all(client))
    told = [each for each in rules().values() if each.audience != "skills" and f"{each.heading.en}\n" in loaded]
    assert len(told) > 15
    plain = re.sub(r"\s", "", loaded.replace("**", ""))
    lines = [line[2:] for line in prompt.split("\n\n")[0].splitlines()[1:]]
    assert [line for line in lines if re.sub(r"\s", "", line) not in plain] == []
