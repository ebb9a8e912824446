"""The assistant's rules: one source, two languages, and the texts built from it."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from itertools import chain
from pathlib import Path
from typing import get_args

import yaml

from server.transport.tool_listing import listed_tool
from tests.support.cases import cases
from tools import skills as room
from tools.prompts.shopping_assistant import MOST_TOKENS, OPENING
from tools.prompts.wording import instructions
from tools.registry import TOOLS
from tools.results.shortening import estimate
from tools.skills.text import Language, Rule, Skill, rules, skills
from tools.store.currency import Currency
from tools.store.models.order import LANGUAGES, Policies

FOLDER = Path(room.__file__).parent
NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
"""Names of tools and fields: words of a sentence have no underscores."""
PLAIN_NAMES = ("understood", "relaxed", "truncated", "nearly", "note", "offset", "audience", "retryable", "message", "_meta")
OF_FAILURES = {"retryable", "message", "retry_after_ms", "fallback_available"}
IN_YEN = {"<currency>": "whole yen with tax", "<770>": "770 yen", "<yen>": ""}
POLICIES = Policies(dict.fromkeys((("shipping", "en"), ("gift-wrapping", "ja")), "…"))


def named(saying: str) -> set[str]:
    """Japanese has no spaces: where an identifier ends is where its characters do."""
    apart = re.sub(r"[^ -~]", " ", saying)
    return {*NAME.findall(apart), *(each for each in PLAIN_NAMES if each in apart)}


def test_instructions_have_the_first_line_of_every_rule_for_clients() -> None:
    lines = instructions(POLICIES).splitlines()[1:]
    expected = [f"- {each.sayings[0].en}" for each in rules().values() if each.audience == "clients"]
    for blank, told in {"<topics>": "shipping, gift-wrapping", **IN_YEN}.items():
        expected = [each.replace(blank, told) for each in expected]
    assert lines == expected
    assert len(lines) > 12


def test_instructions_fit_into_2048_bytes_and_name_no_tool() -> None:
    """Any tool may be off for some caller, and the instructions are the same for all."""
    assert len(instructions(POLICIES).encode()) <= 2048  # some clients cut off longer ones
    assert [tool.name for tool in TOOLS if tool.name in instructions(POLICIES)] == []
    assert "{" not in instructions(POLICIES)


def test_instructions_of_a_shop_without_policies_mention_no_policy() -> None:
    assert "manga://policies" not in instructions(Policies())
    for skill in skills().values():
        for language in get_args(Language):
            assert "manga://policies" not in skill.text(language, lambda _: True, ())
            told = skill.text(language, lambda _: True, ("returns",))
            assert "manga://policies/shipping" not in told
            assert ("manga://policies/returns" in told) == (skill.name == "orders")


def test_instructions_of_a_shop_name_its_own_currency() -> None:
    told = instructions(POLICIES, Currency("EUR"))
    assert "- Prices are in EUR, price_eur for one volume (€7.70); convert nothing." in told
    assert [word for word in ("yen", "jpy", "fixed price", "<currency>", "<770>") if word in told] == []
    text = skills()["prices"].text("ja", lambda _: True, (), Currency("EUR"))
    assert "価格はEURで、price_eurは一巻の値段(7.70ユーロ)。" in text
    assert "「8ユーロ以下」は一巻の値段で、max_price_eurに入れる。" in text
    assert "定価" not in text


def tools_in(said: str) -> set[str]:
    return set(re.findall(r"\{([a-z_]+)\}", said))


@cases("rule", rules().values(), ids=lambda rule: rule.name)
def test_both_languages_of_a_rule_name_the_same_tools_and_fields(rule: Rule) -> None:
    """The same tools and the same fields, in each sentence."""
    for saying in rule.sayings:
        assert tools_in(saying.en) == tools_in(saying.ja), saying
        assert named(saying.en) == named(saying.ja), saying
        assert re.search("[ぁ-ん一-龥]", saying.ja)
        assert saying.en.isascii() or "¥" in saying.en


def test_no_rule_for_all_clients_names_a_tool_in_its_first_line() -> None:
    assert [each.name for each in rules().values() if tools_in(each.sayings[0].en) and each.audience == "clients"] == []


def test_rule_files_contain_all_expected_rules() -> None:
    """A rule removed from the files fails here, so that its removal is on purpose."""
    assert set(rules()) >= {
        "language", "search", "stock", "calls", "failures", "stale", "not_had", "truncated", "plain", "data", "private",
        "prices", "fixed", "adult", "vague", "gift", "age", "parcels", "late", "errors", "words", "budget",
    }  # fmt: skip


def test_fields_named_in_rules_exist_in_results() -> None:
    """A model must not look for a field that no tool returns."""
    known = json.dumps([listed_tool(tool) for tool in TOOLS])
    sayings = [saying for rule in rules().values() for saying in rule.sayings]
    said = set(chain.from_iterable(named(saying.en) for saying in sayings))
    fields = said - {tool for saying in sayings for tool in tools_in(saying.en)}
    assert [each for each in sorted(fields - OF_FAILURES - {"_meta", "truncated"}) if f'"{each}"' not in known] == []


@cases("language", LANGUAGES)
def test_prompts_ask_for_the_address_where_there_is_one(language: Language) -> None:
    assert "product_url" in rules()["search"].text(language, lambda name: True)


@cases("language", LANGUAGES)
def test_all_rules_leave_room_for_the_policies_within_the_token_limit(language: Language) -> None:
    """Rules about tools that are off by default count too."""
    told = (rule for rule in rules().values() if rule.audience != "skills")
    text = "\n".join(f"- {rule.text(language, lambda name: True, POLICIES.topics)}" for rule in told)
    assert estimate(text) + estimate(OPENING.text(language)) + MOST_TOKENS <= 2_425, "headings take some 75"


@cases("skill", skills().values(), ids=lambda skill: skill.name)
def test_front_matter_of_a_skill_is_yaml_with_name_description_and_version(skill: Skill) -> None:
    assert yaml.safe_load(skill.head.strip("-\n")) == skill.frontmatter
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", skill.name)
    assert len(skill.name) <= 64
    assert 1 <= len(skill.frontmatter["description"]) <= 1024
    assert re.fullmatch(r"\d+\.\d+\.\d+", skill.frontmatter["metadata"]["version"])
    assert set(skill.frontmatter) == {"name", "description", "metadata"}


@cases("skill", skills().values(), ids=lambda skill: skill.name)
def test_text_of_a_skill_changes_only_with_its_version(skill: Skill) -> None:
    """A changed skill needs a higher version and a new line here, because hosts go by the version."""
    files = (FOLDER / skill.name / file for file in ("SKILL.md", "references/ja.md"))
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in files)).hexdigest()
    known = tomllib.loads(Path(__file__).with_name("versions.toml").read_text("utf-8"))
    assert known[skill.name].get(skill.frontmatter["metadata"]["version"]) == digest


def test_every_markdown_file_belongs_to_a_skill() -> None:
    written = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.md")}
    assert written == {f"{name}/{file}" for name in skills() for file in ("SKILL.md", "references/ja.md")}


def structure(path: Path) -> list[list[str]]:
    """The mark of each line in each section: of a heading, a line for all clients, a step, or a sentence."""
    body = path.read_text("utf-8").rpartition("---\n")[2]
    sections = re.split(r"^(?=## )", body, flags=re.MULTILINE)
    return [[(re.match(r"#+|\*\*|\d+\.", line) or [""])[0] for line in each.splitlines() if line] for each in sections]


@cases("name", skills())
def test_both_languages_of_a_skill_have_the_same_structure(name: str) -> None:
    english = structure(FOLDER / name / "SKILL.md")
    assert english == structure(FOLDER / name / "references" / "ja.md")
    assert skills()[name].name == name
    for _, *marks in english[1:]:
        steps = [f"{number}." for number in range(1, len(marks) + 1)]
        assert marks in (["**", *[""] * (len(marks) - 1)], [""] * len(marks), steps)


def test_no_two_rules_have_one_heading() -> None:
    assert len(rules()) == sum(len(skill.rules) for skill in skills().values())
