"""The shop's skills, read from `NAME/SKILL.md` (English) and `NAME/references/ja.md` (Japanese) beside this module.

Each section of a file is a rule, named by its English heading. A first line in `**` is also part of the server's
instructions, which every client gets: keep it short, and name no tool in it, since any tool may be off for a caller. The
other lines are sentences for prompts and skills. A section of numbered lines is only for callers that load the skill.

A tool is named in braces; a sentence with a tool is left out for callers that may not use it. Placeholders in a sentence:

    <topics>            topics of the shop's policies; the sentence is left out if there are none
    <policy returns>    URI of the policy; the sentence is left out if the shop has no such policy
    <currency>          the shop's currency
    <770>               an amount: 770 yen, or $7.70
    <yen>               marks a sentence for shops that take yen

Raise the version in a file's front matter with each change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Literal

from tools.contract import NO_TOOL, Json, MayUse, ToolContext
from tools.primitives.resource import Contents, Extension, Method, Resource
from tools.results.content import EmbeddedText
from tools.store.currency import YEN, Currency
from tools.store.failures import NotFound

Language = Literal["en", "ja"]
TOOL = re.compile(r"\{([a-z_]+)\}")
TOPICS, IN_YEN, CURRENCY = "<topics>", "<yen>", "<currency>"
POLICY = re.compile("<policy ([a-z0-9-]+)>")
AMOUNT = re.compile(r"<(\d+)>")
"""An amount in yen; in another currency a hundredth of the number is used."""


@dataclass(frozen=True, slots=True)
class Saying:
    """A text in English and Japanese. A name in braces, such as `{check_inventory}`, is a tool; the text is for callers that
    may use the tool."""

    en: str
    ja: str

    def text(self, language: Language) -> str:
        return TOOL.sub(r"\1", self.ja if language == "ja" else self.en)

    def fits(self, may_use: MayUse) -> bool:
        return all(map(may_use, TOOL.findall(self.en)))


Audience = Literal["clients", "prompts", "skills"]
"""Clients that read a rule: all ("clients"), those that get a prompt or load a skill, or only those that load a skill."""
NAMES = ("selling", "gifts-and-children", "orders", "when-degraded", "prices")
"""Names and folders of the skills, in the order of their rules."""
STEP = re.compile(r"^\d+\. ")


@dataclass(frozen=True, slots=True)
class Rule:
    """A section of a skill. `sayings`: its sentences, or its steps if `audience` is "skills"."""

    name: str
    heading: Saying
    sayings: tuple[Saying, ...]
    audience: Audience

    def text(self, language: Language, may_use: MayUse, topics: Sequence[str] = (), currency: Currency = YEN) -> str:
        """Returns the sentences that apply to the caller, on one line; "" if there are none."""
        return ("" if language == "ja" else " ").join(self._list_sayings(language, may_use, topics, currency))

    def first_sentence(self, language: Language, topics: Sequence[str], currency: Currency) -> str:
        """Returns the first sentence if it applies and names no tool; else ""."""
        return replace(self, sayings=self.sayings[:1]).text(language, NO_TOOL, topics, currency)

    def section(self, language: Language, may_use: MayUse, topics: Sequence[str], currency: Currency) -> str:
        """Returns the sentences that apply to the caller, as a Markdown section; "" if there are none."""
        said = self._list_sayings(language, may_use, topics, currency)
        if self.audience == "skills":
            said = [f"{number}. {each}" for number, each in enumerate(said, 1)]
        elif self.audience == "clients" and said:
            said[0] = f"**{said[0]}**"
        return "\n".join([f"## {self.heading.text(language)}\n", *said]) if said else ""

    def _list_sayings(self, language: Language, may_use: MayUse, topics: Sequence[str], currency: Currency) -> list[str]:
        fitting = (each for each in self.sayings if each.fits(may_use) and (topics or TOPICS not in each.en))
        fitting = (each for each in fitting if set(POLICY.findall(each.en)) <= set(topics))
        if currency != YEN:
            fitting = (each for each in fitting if IN_YEN not in each.en)
        said = (each.text(language).replace(TOPICS, ", ".join(topics)) for each in fitting)
        said = (POLICY.sub(r"manga://policies/\1", each) for each in said)
        return [_in_currency(each, language, currency) for each in said]


def _in_currency(said: str, language: Language, currency: Currency) -> str:
    own, share = f"{'in ' if language == 'en' else ''}{currency}", 100
    if currency == YEN:
        own, share = ("whole yen with tax", 1) if language == "en" else ("税込みの円", 1)
    told = said.replace(IN_YEN, "").replace(CURRENCY, own)
    return currency.rename(AMOUNT.sub(lambda found: currency.say(int(found[1]) * currency.unit / share, language), told))


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill. `frontmatter`: the parsed front matter of its file; `head`: the front matter as text, with its `---`
    lines."""

    frontmatter: Json
    head: str
    title: Saying
    rules: tuple[Rule, ...]

    @property
    def name(self) -> str:
        return str(self.frontmatter["name"])

    def text(self, language: Language, may_use: MayUse, topics: Sequence[str], currency: Currency = YEN) -> str:
        sections = (each.section(language, may_use, topics, currency) for each in self.rules)
        return "\n\n".join([f"# {self.title.text(language)}", *filter(None, sections)]) + "\n"


@cache
def skills() -> Mapping[str, Skill]:
    """Reads all skills, by name. Raises ValueError if a skill's two files differ in their number of sections or lines."""
    return {name: _skill(name) for name in NAMES}


@cache
def rules() -> Mapping[str, Rule]:
    """Returns the rules of all skills by name, in order."""
    return {rule.name: rule for skill in skills().values() for rule in skill.rules}


def _skill(name: str) -> Skill:
    folder = files(__package__).joinpath(name)
    _, head, body = folder.joinpath("SKILL.md").read_text("utf-8").split("---\n", 2)
    japanese = _parts(folder.joinpath("references/ja.md").read_text("utf-8"))
    (title, title_ja), *sections = zip(_parts(body), japanese, strict=True)
    made = tuple(_rule(en, ja) for en, ja in sections)
    return Skill(_read_frontmatter(head), f"---\n{head}---\n", Saying(title[0], title_ja[0]), made)


def _read_frontmatter(head: str) -> Json:
    """Parses the subset of YAML used here: a `key: value` per line, and indented lines below `key:`."""
    read: Json = {}
    inner = read
    for line in head.splitlines():
        key, _, value = (each.rstrip() for each in line.partition(":"))
        if not value:
            inner = read[key] = {}
        else:
            block = inner if key.startswith(" ") else read
            block[key.strip()] = json.loads(value) if value.lstrip().startswith('"') else value.lstrip()
    return read


def _parts(text: str) -> Iterator[list[str]]:
    """Yields the lines of each part, beginning with its heading: first the title part, then the sections."""
    for part in re.split(r"^#+ ", text.strip(), flags=re.MULTILINE)[1:]:
        yield [line for line in part.splitlines() if line]


def _rule(en: list[str], ja: list[str]) -> Rule:
    """Makes a rule of a section, heading first, in both languages. The English line after the heading tells the audience."""
    name = en[0].lower().replace(" ", "_").replace(",", "")
    audience: Audience = "clients" if en[1].startswith("**") else "skills" if STEP.match(en[1]) else "prompts"
    heading, *said = (Saying(*(STEP.sub("", line).strip("*") for line in pair)) for pair in zip(en, ja, strict=True))
    return Rule(name, heading, tuple(said), audience)


NAME = "io.modelcontextprotocol/skills"
MARKDOWN = "text/markdown"
TTL_MS = 60_000
"""Milliseconds for which clients may cache a skill. Its text depends on the server's version and the caller's tools."""
JAPANESE = "references/ja.md"
BESIDE = f"\nThe same in Japanese: [{JAPANESE}]({JAPANESE})\n"


def served_skills(cover_hosts: Sequence[str] = ()) -> Extension:
    """Builds the extension that serves the skills. Ignores `cover_hosts`, which every extension's factory takes. Raises
    OSError for an unreadable file and ValueError for an invalid one."""
    return Extension(
        name=NAME,
        understood=lambda declared: {} if isinstance(declared, Mapping) else None,
        declared={},
        methods=(
            Method("skills/list", "the skills that the server serves", list_skills, ttl_ms=TTL_MS),
            Method("skills/get", "one of them, by the address of its SKILL.md", get_skill, ("uri",), ttl_ms=TTL_MS),
        ),
        resources=tuple(resource for skill in skills().values() for resource in _resources(skill)),
    )


async def list_skills(context: ToolContext, given: Mapping[str, str]) -> Json:
    return {"skills": [_entry(skill, context) for skill in skills().values()]}


async def get_skill(context: ToolContext, given: Mapping[str, str]) -> Json:
    for skill in skills().values():
        if given["uri"] == _address(skill):
            return {"skill": _entry(skill, context)}
    raise NotFound(f"There is no such skill. There are: {', '.join(map(_address, skills().values()))}.")


def _entry(skill: Skill, context: ToolContext) -> Json:
    """Returns the skill's entry in the list, with digests and sizes of its files as this caller reads them."""
    files = {_address(skill, name): text.encode() for name, text in _texts(skill, context).items()}
    return {
        "uri": _address(skill),
        "frontmatter": skill.frontmatter,
        "resources": [
            {"uri": uri, "digest": f"sha256:{sha256(text).hexdigest()}", "size": len(text)} for uri, text in files.items()
        ],
    }


def _address(skill: Skill, name: str = "SKILL.md") -> str:
    return f"skill://{skill.name}/{name}"


def _texts(skill: Skill, context: ToolContext) -> dict[str, str]:
    def body(language: Language) -> str:
        return skill.text(language, context.may_use, context.store.policies.topics, context.store.currency)

    return {"SKILL.md": f"{skill.head}\n{body('en')}{BESIDE}", JAPANESE: body("ja")}


def _resources(skill: Skill) -> tuple[Resource, ...]:
    def resource(name: str, title: str, label: str, description: str) -> Resource:
        async def read(context: ToolContext, given: Mapping[str, str]) -> Contents:
            return [EmbeddedText(given["uri"], _texts(skill, context)[name], MARKDOWN)]

        return Resource(
            uri=_address(skill, name),
            name=label,
            title=title,
            description=description,
            handler=read,
            mime_type=MARKDOWN,
            ttl_ms=TTL_MS,
            private=True,
            subscribable=False,
            extension=NAME,
        )

    return (
        resource("SKILL.md", skill.title.en, skill.name, skill.frontmatter["description"]),
        resource(JAPANESE, skill.title.ja, f"{skill.name}_ja", f"The skill {skill.name} in Japanese."),
    )
