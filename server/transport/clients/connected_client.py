"""The client of one request, as a tool may speak to it: notifications on the request's own stream, and questions.

A 2025 client is asked while it waits, by a request of the server's own. A 2026 one is asked between two calls: the result of
the first says what is wanted, and the second brings the answers. Those given in earlier rounds travel with the client, in
`requestState`, sealed (`server.transport.clients.request_state`): no replica has to remember them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping

import mcp_types as types
from mcp.server.connection import allowed_log_levels
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from server.transport.clients.log_levels import LogLevels
from server.transport.request import Context
from tools.client import Json, Question
from tools.schema.text import bounded
from tools.store.failures import ClientCannot, InputRequired, InternalFailure

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
        await self._tell(lambda: self._ctx.session.report_progress(done, total, bounded(message)))

    async def log(self, level: str, message: str) -> None:
        if level not in self._levels:
            return
        params = types.LoggingMessageNotificationParams.model_validate({"level": level, "data": bounded(message)})
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
