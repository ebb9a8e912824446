"""The rules of the trade: one source, two languages, and what is made of it."""

from __future__ import annotations

import json
import re
from itertools import chain

from server.transport.tool_listing import listed_tool
from tests.support.cases import cases
from tools.prompts.shopping_assistant import MOST_TOKENS, OPENING
from tools.prompts.wording import LONGEST_INSTRUCTIONS, Language, Rule, Saying, instructions, rules
from tools.registry import TOOLS
from tools.results.shortening import estimate
from tools.store.models.order import LANGUAGES

NAME = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
"""Names of tools and fields: words of a sentence have no underscores."""
PLAIN_NAMES = ("understood", "relaxed", "truncated", "nearly", "note", "offset", "audience", "retryable", "message", "_meta")
OF_FAILURES = {"retryable", "message"}


def sayings(rule: Rule) -> list[Saying]:
    return [rule.line, *rule.more]


def named(text: str) -> set[str]:
    """Japanese has no spaces: where an identifier ends is where its characters do."""
    apart = re.sub(r"[^ -~]", " ", text)
    return {*NAME.findall(apart), *(each for each in PLAIN_NAMES if each in apart)}


def test_every_rule_has_its_line_in_the_instructions_or_is_for_prompts_alone() -> None:
    lines = instructions().splitlines()[1:]
    assert lines == [f"- {each.line.en}" for each in rules().values() if not each.prompt_only]
    assert len(lines) > 12


def test_the_instructions_fit_what_clients_read_and_name_no_tool() -> None:
    """Any tool may be off for some caller, and the instructions are the same for all."""
    assert len(instructions().encode()) <= LONGEST_INSTRUCTIONS
    assert [tool.name for tool in TOOLS if tool.name in instructions()] == []
    assert "{" not in instructions()


@cases("rule", rules().values(), ids=lambda rule: rule.name)
def test_both_languages_say_the_same(rule: Rule) -> None:
    """The same tools and the same fields, in each sentence."""
    for saying in sayings(rule):
        assert saying.tools("en") == saying.tools("ja"), saying
        assert named(saying.en) == named(saying.ja), saying
        assert re.search("[ぁ-ん一-龥]", saying.ja)
        assert saying.en.isascii() or "¥" in saying.en


def test_a_rule_whose_line_names_a_tool_is_for_prompts_alone() -> None:
    assert [each.name for each in rules().values() if each.line.tools("en") and not each.prompt_only] == []


def test_the_rules_of_the_trade_are_all_there() -> None:
    """Whoever takes one out of the file is asked whether that was meant."""
    assert set(rules()) >= {
        "language", "search", "stock", "calls", "failures", "stale", "not_had", "truncated", "plain", "data", "private",
        "prices", "fixed", "adult", "vague",
    }  # fmt: skip


def test_fields_that_a_rule_speaks_of_are_fields_of_results() -> None:
    """A model that looks for a name which no tool uses has been told something untrue."""
    known = json.dumps([listed_tool(tool) for tool in TOOLS])
    said = set(chain.from_iterable(named(saying.en) for rule in rules().values() for saying in sayings(rule)))
    fields = said - {tool for rule in rules().values() for saying in sayings(rule) for tool in saying.tools("en")}
    assert [each for each in sorted(fields - OF_FAILURES - {"_meta", "truncated"}) if f'"{each}"' not in known] == []


@cases("language", LANGUAGES)
def test_all_rules_leave_room_for_the_policies(language: Language) -> None:
    """Also those about tools that are not everywhere."""
    told = "\n".join(f"- {rule.text(language, lambda name: True)}" for rule in rules().values())
    assert estimate(told) + estimate(OPENING.text(language)) + MOST_TOKENS <= 2_425, "headings take some 75"
