"""From a request of MCP to its result, the way of a call: for tools, and for what is read or completed."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from server.call import Call, Outcome
from server.pipeline import Pipeline
from server.telemetry.answers import when_sent
from server.transport.clients.connected_client import ConnectedClient
from server.transport.clients.log_levels import LogLevels
from server.transport.request import Context, call_of
from tools.registry import Registered
from tools.store.failures import ClientCannot, InputRequired

Json = dict[str, Any]
Answer = Callable[[Call, Outcome], Json]
LONGEST_STATE = 16_384
"""Of the answers that a client has given so far, and brings again with each round."""


class Calls:
    """`on_sent` is told of each call whose answer is with the socket."""

    def __init__(self, pipeline: Pipeline, process_session: str, levels: LogLevels, on_sent: Callable[[Call], None]) -> None:
        self._pipeline = pipeline
        self._process_session = process_session
        self._levels = levels
        self._on_sent = on_sent

    async def run(self, ctx: Context, registered: Registered, arguments: Json, answer: Answer) -> Json:
        """Returns what `answer` makes of the outcome, or what the client is asked first."""
        client = ConnectedClient(ctx, self._levels, asks=registered.tool.asks)
        call = call_of(ctx, registered, arguments, self._process_session, client)
        outcome = await self._pipeline.run(call)
        when_sent(ctx.request, partial(self._on_sent, call))
        return _asking(ctx, outcome) or answer(call, outcome)


def _asking(ctx: Context, outcome: Outcome) -> Json | None:
    """Returns what a client of the 2026 era is asked before it calls again; None where there is nothing to ask. Raises for
    what it has not declared."""
    failure = outcome.failure
    if isinstance(failure, InputRequired):
        state = json.dumps(failure.answers, separators=(",", ":"))
        if len(state) > LONGEST_STATE:
            raise MCPError(types.INVALID_PARAMS, f"The answers have at most {LONGEST_STATE} characters together.")
        asked = {name: {"method": each.method, "params": each.params} for name, each in failure.questions.items()}
        return {"resultType": "input_required", "inputRequests": asked, "requestState": state}
    if isinstance(failure, ClientCannot) and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        data: Json = {"requiredCapabilities": {name: {} for name in failure.capabilities}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, failure.message, data)
    return None
