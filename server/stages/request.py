from __future__ import annotations

from functools import partial

from server.call import Call, Handler, Outcome
from server.identity import Identifier
from server.identity.caller_limits import CallerLimits, caller_of
from server.identity.request_metadata import checked_expected_calls, checked_session
from server.identity.tool_access import ToolAccess
from tools.schema.text import clean, clean_text
from tools.store.failures import CallerFailure, Forbidden, RateLimited


class IdentityStage:
    """Authenticates the caller, and checks access rights and rate limits. Sets the call's `principal`, `session`, `may_use`,
    `variant` and `expected_calls`. Calls refused before the session stage count against their caller's limit for refused
    calls."""

    def __init__(self, identifier: Identifier, access: ToolAccess, limits: CallerLimits) -> None:
        self._identifier = identifier
        self._access = access
        self._limits = limits

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        try:
            await self._identify(call)
            return await inner(call)
        except RateLimited:
            raise
        except CallerFailure:
            if call.begin_result is None and (wait_ms := self._limits.charge_refusal(caller_of(call))):
                raise RateLimited("Too many calls were refused. Wait a moment.", retry_after_ms=wait_ms) from None
            raise

    async def _identify(self, call: Call) -> None:
        if call.metadata.user_conflict:
            raise Forbidden("The user in _meta and the user in the header are not the same.")
        call.principal = await self._identifier.identify(call.metadata, call.bearer)
        call.session = checked_session(call.metadata.session) or call.transport_session
        self._limits.admit(caller_of(call))
        decision = self._access.decision(call.tool.tool, call.principal, call.session)
        call.variant = decision.variant
        call.may_use = partial(self._access.may_use, call.principal, call.session)
        self._access.check(call.tool.tool, call.principal, decision)
        call.expected_calls = checked_expected_calls(call.metadata.expected_calls)


USER = "user_id"
MOST_NAMED = 5
NOT_THE_CALLER = "user_id is not the customer of this conversation, so nothing personal is in this answer."


class ValidateStage:
    """Cleans and checks the arguments and fills in defaults. Raises `InvalidArguments` with all violations at once.
    Arguments that name the caller, such as `user_id`, are ignored with a note, since the caller is already authenticated."""

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        given, validator = call.arguments, call.tool.validator
        call.arguments = validator.validate(given)
        call.validated = True
        named = call.arguments.pop(USER, None)
        if named is not None and not _is_caller(call, named):
            call.names_other_user = True
            call.notes.append(NOT_THE_CALLER)
        ignored = [
            name for name in validator.list_ignored(given) if name != USER or not _is_caller(call, clean(given.get(USER)))
        ]
        if ignored:
            call.notes.append(f"Ignored: {', '.join(ignored[:MOST_NAMED])}. The caller is known without it; leave it out.")
        return await inner(call)


def _is_caller(call: Call, named: object) -> bool:
    return call.principal.user is not None and named == clean_text(call.principal.user)
