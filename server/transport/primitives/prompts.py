"""`prompts/*`: which there are, and the messages that one makes."""

from __future__ import annotations

from functools import partial
from typing import Any

import mcp_types as types

from server.identity.tool_access import granted
from server.transport.askers import Askers, one_page
from server.transport.calls import Calls
from server.transport.primitives.answers import cache_scope, prompt_result
from server.transport.request import Context
from tools.primitive_registry import PrimitiveRegistry
from tools.primitives.prompt import Prompt
from tools.schema.text import visible

Json = dict[str, Any]
LIST_TTL_MS = 1000


class Prompts:
    """Only those are listed, and made, that the caller's token grants."""

    def __init__(self, registry: PrimitiveRegistry, askers: Askers, calls: Calls) -> None:
        self._registry = registry
        self._askers = askers
        self._calls = calls

    async def list(self, ctx: Context, params: types.PaginatedRequestParams) -> Json:
        """Answers `prompts/list` with one page."""
        one_page(params, "prompts")
        principal = await self._askers.principal(ctx)
        listed = [_listed(each.value) for each in self._registry.prompts if granted(each.run.tool, principal)]
        scope = cache_scope(principal.scopes is not None)
        return {"resultType": "complete", "prompts": listed, "ttlMs": LIST_TTL_MS, "cacheScope": scope}

    async def get(self, ctx: Context, params: types.GetPromptRequestParams) -> Json:
        """Answers `prompts/get`."""
        served = self._registry.prompt(params.name)
        if served is None:
            principal = await self._askers.principal(ctx)
            message = f"There is no prompt {visible(params.name[:100])!r}."
            raise self._askers.refusal(ctx, principal, message, {"name": "NOT_FOUND"})
        return await self._calls.run(ctx, served.run, dict(params.arguments or {}), partial(prompt_result, served.value))


def _listed(prompt: Prompt) -> Json:
    arguments = [
        {"name": each.name, "description": each.description, "required": each.required} for each in prompt.arguments
    ]
    return {"name": prompt.name, "title": prompt.title, "description": prompt.description, "arguments": arguments}
