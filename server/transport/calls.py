"""From a request of MCP to its result, the way of a call: for tools, and for what is read or completed."""

from __future__ import annotations

import asyncio
import json
import weakref
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import get_args

import mcp_types as types
from mcp.server.connection import Connection, allowed_log_levels
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from server.call import Call, Outcome
from server.pipeline import Pipeline
from server.transport.http.responses import when_sent
from server.transport.request import Context, call_of
from tools.contract import Json, Question
from tools.registry import Registered
from tools.schema.text import limit_json
from tools.store.failures import ClientCannot, InputRequired, InternalFailure

LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)
"""Least severe first."""


class LogLevels:
    """None for who has not said so: nobody reads what nobody asked for."""

    def __init__(self) -> None:
        self._of: weakref.WeakKeyDictionary[Connection, frozenset[str]] = weakref.WeakKeyDictionary()

    async def set(self, ctx: Context, params: types.SetLevelRequestParams) -> dict[str, object]:
        """Answers `logging/setLevel`: this level and those above."""
        # A session lives as long as one request; the connection behind it has no public name in the SDK.
        self._of[ctx.session._connection] = frozenset(LEVELS[LEVELS.index(params.level) :])
        return {}

    def of(self, session: ServerSession) -> frozenset[str]:
        return self._of.get(session._connection, frozenset())


MOST_MESSAGES = 64
SEND_SECONDS = 0.05
"""How long a message waits for a client that does not read; the messages after it are not sent any more."""
MOST_QUESTIONS = 8
RESULTS: dict[str, type[types.Result]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}


class ConnectedClient:
    """What is told after the request was answered or cancelled, the SDK drops."""

    def __init__(self, ctx: Context, levels: LogLevels, *, asks: bool) -> None:
        """`asks` is whether whatever runs may ask: the work of a tool that has not said so may be shared by equal calls."""
        self._asks = asks
        self._ctx = ctx
        self._stateless = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        self._levels = allowed_log_levels(ctx.protocol_version, ctx.meta) if self._stateless else levels.of(ctx.session)
        self._left = MOST_MESSAGES
        self._heard: dict[str, Json] = {}

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        await self._tell(lambda: self._ctx.session.report_progress(done, total, limit_json(message)))

    async def log(self, level: str, message: str) -> None:
        if level not in self._levels:
            return
        params = types.LoggingMessageNotificationParams.model_validate({"level": level, "data": limit_json(message)})
        told = types.LoggingMessageNotification(params=params)
        await self._tell(lambda: self._ctx.session.send_notification(told, self._ctx.request_id))

    def can(self, capability: str) -> bool:
        return getattr(self._ctx.session.client_capabilities, capability, None) is not None

    async def ask(self, questions: Mapping[str, Question]) -> dict[str, Json]:
        if lacking := {question.capability for question in questions.values() if not self.can(question.capability)}:
            raise ClientCannot(sorted(lacking))
        if not self._asks or len(questions) > MOST_QUESTIONS:
            raise InternalFailure("Something went wrong on our side: this may not be asked.")
        if self._stateless:
            return self._answered(questions)
        return {name: await self._ask(question) for name, question in questions.items()}

    def _answered(self, questions: Mapping[str, Question]) -> dict[str, Json]:
        params = self._ctx.params or {}
        answers: dict[str, Json] = json.loads(params.get("requestState") or "{}") | (params.get("inputResponses") or {})
        self._heard |= {name: answers[name] for name in questions if name in answers}
        if still_open := {name: each for name, each in questions.items() if name not in answers}:
            raise InputRequired(still_open, self._heard)
        return {name: answers[name] for name in questions}

    async def _ask(self, question: Question) -> Json:
        request = types.server_request_adapter.validate_python({"method": question.method, "params": question.params})
        related = ServerMessageMetadata(related_request_id=self._ctx.request_id)
        try:
            result = await self._ctx.session.send_request(request, RESULTS[question.method], metadata=related)
        except MCPError:
            raise ClientCannot([question.capability], "The client did not answer what this needs to know.") from None
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def _tell(self, sending: Callable[[], Awaitable[None]]) -> None:
        if not self._left:
            return
        self._left -= 1
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await sending()
        except TimeoutError:
            self._left = 0


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
