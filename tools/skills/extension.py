"""The extension `io.modelcontextprotocol/skills` (SEP-2640): skills as resources, and the methods that tell of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from tools.contract import Json, ToolContext
from tools.primitives.resource import Contents, Extension, Method, Resource
from tools.results.content import EmbeddedText
from tools.skills.text import Language, Skill, skills
from tools.store.failures import NotFound

NAME = "io.modelcontextprotocol/skills"
MARKDOWN = "text/markdown"
TTL_MS = 60_000
"""A skill changes with the server's version, and with the tools that are on for the caller."""
JAPANESE = "references/ja.md"
BESIDE = f"\nThe same in Japanese: [{JAPANESE}]({JAPANESE})\n"


def served_skills(cover_hosts: Sequence[str] = ()) -> Extension:
    """Reads the skills' files. Raises OSError and ValueError for files that cannot be skills."""
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
    """The skill as its caller reads it: a tool that is off for them is named in none of its files."""
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
    """The files by name."""

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
