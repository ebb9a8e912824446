"""MCP requests: the caller's identity, the pipeline call that a request becomes, and the client that waits for it."""

from __future__ import annotations

import asyncio
import json
import uuid
import weakref
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, get_args

import mcp_types as types
from mcp.server.connection import Connection, allowed_log_levels
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from server.call import Bearer, Call, Outcome, Principal, RequestMetadata
from server.identity.caller_limits import Caller, CallerLimits
from server.identity.request_metadata import Identifier, bearer_in, checked_session, read_metadata
from server.pipeline import Pipeline
from server.transport.http.responses import call_when_sent
from server.transport.http.slots import principal_of
from server.transport.http.streams import STREAM, Stream
from server.transport.listeners import connection_of
from tools.contract import Client, Json, Question
from tools.registry import Registered
from tools.schema.text import limit_json
from tools.store.failures import ClientLacksCapability, Failure, InputRequired, InternalFailure

Context = ServerRequestContext[Any, Request]


def read_identity(ctx: Context) -> tuple[RequestMetadata, Bearer | None]:
    """Returns the metadata that the request states, and its bearer token. If another replica forwarded the request,
    returns in the token's place the identity that the other replica has verified."""
    if ctx.request is None:
        return read_metadata(ctx.meta or {}, {}), None
    # Decodes all headers at once, since Starlette would scan them for each name. The first one of a name wins.
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(ctx.request.headers.raw)}
    return read_metadata(ctx.meta or {}, headers), bearer_in(ctx.request.scope)


def origin_of(request: Request | None) -> str | None:
    return principal_of(request.scope) if request is not None else None


def _address(request: Request | None) -> str | None:
    return request.client.host if request is not None and request.client else None


def _rate_limited(message: str, wait_ms: int) -> MCPError:
    return MCPError(types.INVALID_PARAMS, message, {"name": "RATE_LIMITED", "retry_after_ms": wait_ms})


def refuse_cursor(params: types.PaginatedRequestParams, what: str) -> None:
    """Raises `MCPError` if the params have a cursor, since all lists have one page. `what` names the list."""
    if params.cursor:
        raise MCPError(types.INVALID_PARAMS, f"There is no such cursor: the {what} are one page.")


MOST_NOTIFICATIONS = 64
SEND_SECONDS = 0.05
"""Timeout in seconds of a notification to a client that does not read. After it, the call sends no more."""
MOST_QUESTIONS = 8
RESULTS: dict[str, type[types.Result]] = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}


class ConnectedClient(Client):
    """The client that waits for a call. `may_ask` is False for a tool that does not declare `asks`, since equal calls of
    such a tool may share one run. `levels` are the log levels requested on the client's connection."""

    def __init__(self, ctx: Context, levels: frozenset[str], *, may_ask: bool) -> None:
        self._may_ask = may_ask
        self._ctx = ctx
        self._is_stateless = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        self._levels = allowed_log_levels(ctx.protocol_version, ctx.meta) if self._is_stateless else levels
        self._left = MOST_NOTIFICATIONS
        self._answers: Json = {}

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        await self._notify(lambda: self._ctx.session.report_progress(done, total, limit_json(message)))

    async def log(self, level: str, message: str) -> None:
        if level not in self._levels:
            return
        params = types.LoggingMessageNotificationParams.model_validate({"level": level, "data": limit_json(message)})
        note = types.LoggingMessageNotification(params=params)
        await self._notify(lambda: self._ctx.session.send_notification(note, self._ctx.request_id))

    def can(self, capability: str) -> bool:
        return getattr(self._ctx.session.client_capabilities, capability, None) is not None

    async def ask(self, questions: Mapping[str, Question]) -> dict[str, Json]:
        if lacking := {question.capability for question in questions.values() if not self.can(question.capability)}:
            raise ClientLacksCapability(sorted(lacking))
        if not self._may_ask or len(questions) > MOST_QUESTIONS:
            raise InternalFailure("Something went wrong on our side: this may not be asked.")
        if not self._is_stateless:
            return {name: await self._ask(question) for name, question in questions.items()}
        params = self._ctx.params or {}
        answers: dict[str, Json] = json.loads(params.get("requestState") or "{}") | (params.get("inputResponses") or {})
        self._answers |= {name: answers[name] for name in questions if name in answers}
        if still_open := {name: each for name, each in questions.items() if name not in answers}:
            raise InputRequired(still_open, self._answers)
        return {name: answers[name] for name in questions}

    async def _ask(self, question: Question) -> Json:
        request = types.server_request_adapter.validate_python({"method": question.method, "params": question.params})
        related = ServerMessageMetadata(related_request_id=self._ctx.request_id)
        try:
            result = await self._ctx.session.send_request(request, RESULTS[question.method], metadata=related)
        except MCPError:
            raise ClientLacksCapability([question.capability], "The client did not answer this call's question.") from None
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)

    async def _notify(self, send: Callable[[], Awaitable[None]]) -> None:
        if not self._left:
            return
        self._left -= 1
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await send()
        except TimeoutError:
            self._left = 0


MakeResult = Callable[[Call, Outcome], Json]
LONGEST_STATE = 16_384
"""Maximum characters of a request's state: its answers so far as JSON, which the client sends again with each round."""


LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)
"""Log levels, least severe first."""
NOBODY = Principal(scopes=frozenset())


@dataclass(eq=False)
class Requests:
    """Runs requests through the pipeline. For requests that bypass it, identifies and rate-limits the callers. `on_sent` is
    called with each call whose answer has been written to a socket, never on stdio."""

    identifier: Identifier
    limits: CallerLimits
    pipeline: Pipeline
    on_sent: Callable[[Call], None]
    _process_session: str = field(default_factory=lambda: uuid.uuid4().hex)
    """The session id on stdio, which has one client."""
    _levels: weakref.WeakKeyDictionary[Connection, frozenset[str]] = field(default_factory=weakref.WeakKeyDictionary)
    """The log levels that each connection has requested; none by default."""

    async def identify(self, ctx: Context) -> Principal:
        """Returns the caller; if the stated user is unproven, the principal of the bearer token alone, or `NOBODY`."""
        metadata, bearer = read_identity(ctx)
        for believed in (RequestMetadata() if metadata.user_conflict else metadata, RequestMetadata()):
            try:
                return await self.identifier.identify(believed, bearer)
            except Failure:
                continue
        return NOBODY

    def session_of(self, ctx: Context) -> str | None:
        """Returns the stated session, else the connection's, else None. Ignores a malformed stated session."""
        return self._caller(ctx, NOBODY).session

    def charge_bytes(self, ctx: Context, principal: Principal, size: int) -> None:
        """Counts the bytes of an answer. Raises `MCPError` beyond the caller's limit."""
        if wait_ms := self.limits.charge_bytes(self._caller(ctx, principal), size):
            raise _rate_limited("Too many lists. Wait a moment.", wait_ms)

    def refusal(self, ctx: Context, principal: Principal, message: str, data: Json) -> MCPError:
        """Counts a refused request for a name that does not exist, for its IP address too. Returns an INVALID_PARAMS error
        with `message` and `data`, or a RATE_LIMITED error if the caller has had too many refusals."""
        caller = self._caller(ctx, principal)
        if wait_ms := self.limits.charge_address(caller) or self.limits.charge_refusal(caller):
            return _rate_limited("Too many calls were refused. Wait a moment.", wait_ms)
        return MCPError(types.INVALID_PARAMS, message, data)

    def _caller(self, ctx: Context, principal: Principal) -> Caller:
        try:
            session = checked_session(read_identity(ctx)[0].session)
        except Failure:
            session = None
        session = session or self._transport(ctx)[1]
        return Caller(principal.user, session, origin_of(ctx.request), _address(ctx.request), principal.is_proven)

    def _transport(self, ctx: Context) -> tuple[str, str | None]:
        """Returns the transport, and the session id that this server has issued to the connection, None if there is none.
        The id is the process's on stdio, the stream's name on a stream, or the `Mcp-Session-Id` of versions up to 2025."""
        if ctx.request is None:
            return "stdio", self._process_session
        stream: Stream | None = ctx.request.scope.get(STREAM)
        if stream is not None:
            return stream.transport, stream.name
        has_sessions = ctx.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
        return "streamable_http", ctx.request.headers.get("mcp-session-id") if has_sessions else None

    async def set_level(self, ctx: Context, params: types.SetLevelRequestParams) -> Json:
        """Answers `logging/setLevel`. Enables the level and all more severe ones for the connection."""
        self._levels[connection_of(ctx.session)] = frozenset(LEVELS[LEVELS.index(params.level) :])
        return {}

    async def run(self, ctx: Context, tool: Registered, arguments: Json, make_result: MakeResult) -> Json:
        """Runs a call. Returns its result, built by `make_result`, or the questions that the client must answer first.
        Raises `MCPError` as `_questions` and `make_result` do."""
        call = self._begin(ctx, tool, arguments)
        outcome = await self.pipeline.run(call)
        call_when_sent(ctx.request, partial(self.on_sent, call))
        return _questions(ctx, outcome) or make_result(call, outcome)

    def _begin(self, ctx: Context, tool: Registered, arguments: Json) -> Call:
        request, now = ctx.request, self.pipeline.clock()
        levels = self._levels.get(connection_of(ctx.session), frozenset())
        scope = request.scope if request is not None else {}
        metadata, bearer = read_identity(ctx)
        transport, transport_session = self._transport(ctx)
        return Call(
            call_id=uuid.uuid4().hex,
            tool=tool,
            arguments=arguments,
            metadata=metadata,
            arrived=min(now, scope.get("manga.arrived", now)),  # set by the HTTP middleware
            address=_address(request),
            origin=origin_of(request),
            transport=transport,
            transport_session=transport_session,
            bearer=bearer,
            clock=self.pipeline.clock,
            client=ConnectedClient(ctx, levels, may_ask=tool.tool.asks),
        )


def _questions(ctx: Context, outcome: Outcome) -> Json | None:
    """Returns the questions that the client must answer first, or None. Raises `MCPError` if the client's answers so far are
    too long or, from version 2026-07-28 on, if the client lacks a needed capability. On older versions, returns None."""
    failure = outcome.failure
    if isinstance(failure, InputRequired):
        state = json.dumps(failure.answers, separators=(",", ":"))
        if len(state) > LONGEST_STATE:
            raise MCPError(types.INVALID_PARAMS, f"The answers have at most {LONGEST_STATE} characters together.")
        requests = {name: {"method": each.method, "params": each.params} for name, each in failure.questions.items()}
        return {"resultType": "input_required", "inputRequests": requests, "requestState": state}
    if isinstance(failure, ClientLacksCapability) and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        data: Json = {"requiredCapabilities": {name: {} for name in failure.capabilities}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, failure.message, data)
    return None
