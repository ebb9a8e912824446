"""Everything that a server has to read: what it lists, and of templates and prompts an example, by its own proposals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tools.primitives.resource import VARIABLE

OWNER = "demo-user-1"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Offered:
    """`listed`: resources, templates, prompts. `read`: by address each content's own address, media type and text; `public`
    are those that are the same for everybody. `prompts`: arguments of each; `made`: the roles of its messages."""

    listed: tuple[Sequence[str], Sequence[str], Sequence[str]]
    read: dict[str, list[list[str]]]
    public: frozenset[str]
    prompts: dict[str, dict[str, str]]
    made: dict[str, list[str]]

    @property
    def asked(self) -> str:
        """For a client in a process of its own."""
        return json.dumps({"uris": list(self.read), "prompts": self.prompts})

    def check(self, seen: Json) -> None:
        """What another client saw has to be the same, as far as it is not about a conversation of its own."""
        assert seen["listed"] == list(map(list, self.listed))
        assert seen["made"] == self.made
        assert {uri: _outside(each) for uri, each in seen["read"].items()} == {
            uri: _outside(each) for uri, each in self.read.items()
        }
        assert all(text for contents in seen["read"].values() for *_, text in contents)
        for uri in self.public:
            assert seen["read"][uri] == self.read[uri]

    @classmethod
    async def found(cls, url: str, era: str = "auto") -> Offered:
        """By the official client of the 2.x line."""
        async with (
            create_mcp_http_client(headers={"X-User-ID": OWNER}) as http,
            Client(streamable_http_client(url, http_client=http), mode=era, cache=None) as client,
        ):
            return await _found(client)


def _outside(contents: list[list[str]]) -> list[list[str]]:
    return [[uri, media_type] for uri, media_type, _ in contents]


async def _found(client: Client) -> Offered:
    resources = [each.uri for each in (await client.list_resources()).resources]
    templates = [each.uri_template for each in (await client.list_resource_templates()).resource_templates]
    listed = (await client.list_prompts()).prompts if client.server_capabilities.prompts else []
    prompts = {each.name: await _arguments(client, each) for each in listed}
    examples = [uri for each in templates if (uri := await _example(client, each)) is not None]
    answers = {uri: await client.read_resource(uri) for uri in dict.fromkeys([*resources, *examples])}
    made = {name: await client.get_prompt(name, given) for name, given in prompts.items()}
    return Offered(
        listed=(resources, templates, [each.name for each in listed]),
        read={uri: [[c.uri, c.mime_type, c.text] for c in each.contents] for uri, each in answers.items()},
        public=frozenset(uri for uri, each in answers.items() if each.cache_scope == "public"),
        prompts=prompts,
        made={name: [message.role for message in each.messages] for name, each in made.items()},
    )


async def _example(client: Client, template: str) -> str | None:
    """With the first proposal for each variable; None where there is none, as for what was never asked."""
    address = template
    for name in VARIABLE.findall(template):
        value = await _proposal(client, types.ResourceTemplateReference(uri=template), name)
        if value is None:
            return None
        address = address.replace(f"{{{name}}}", value)
    return address


async def _arguments(client: Client, prompt: types.Prompt) -> dict[str, str]:
    ref = types.PromptReference(name=prompt.name)
    proposed = {each.name: await _proposal(client, ref, each.name) for each in prompt.arguments or []}
    required = {each.name for each in prompt.arguments or [] if each.required}
    return {name: value or "one" for name, value in proposed.items() if value or name in required}


async def _proposal(
    client: Client, ref: types.PromptReference | types.ResourceTemplateReference, argument: str
) -> str | None:
    values = (await client.complete(ref, {"name": argument, "value": ""})).completion.values
    return values[0] if values else None
