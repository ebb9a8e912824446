"""`completion/complete`: proposals for an argument of a prompt or a variable of a resource's address."""

from __future__ import annotations

from typing import Any

import mcp_types as types

from server.transport.askers import Askers
from server.transport.calls import Calls
from server.transport.primitives.answers import completion_result
from server.transport.request import Context
from tools.primitive_registry import PrimitiveRegistry, Served
from tools.primitives.read import OTHERS, TYPED, arguments_of

Json = dict[str, Any]
NOTHING: Json = {"resultType": "complete", "completion": {"values": [], "total": 0, "hasMore": False}}


class Completions:
    """An argument that exists and that nobody has proposals for is answered with none."""

    def __init__(self, registry: PrimitiveRegistry, askers: Askers, calls: Calls) -> None:
        self._registry = registry
        self._askers = askers
        self._calls = calls

    async def complete(self, ctx: Context, params: types.CompleteRequestParams) -> Json:
        served, argument = self._of(params.ref), params.argument
        if served is None or argument.name not in arguments_of(served.value):
            principal = await self._askers.principal(ctx)
            message = "There is no such argument of a prompt or a template here."
            raise self._askers.refusal(ctx, principal, message, {"name": "NOT_FOUND"})
        completion = served.completions.get(argument.name)
        if completion is None:
            return NOTHING
        others = dict((params.context.arguments if params.context else None) or {})
        arguments = {TYPED: argument.value, OTHERS: others}
        return await self._calls.run(ctx, completion, arguments, completion_result)

    def _of(self, ref: types.PromptReference | types.ResourceTemplateReference) -> Served[Any] | None:
        if isinstance(ref, types.PromptReference):
            return self._registry.prompt(ref.name)
        return self._registry.template(str(ref.uri))
