"""Who calls, and whether they may use this tool."""

from __future__ import annotations

from server.call import Call, Handler, Outcome
from server.caller_limits import CallerLimits, caller_of
from server.identity import Identifier
from server.stated import checked_expected_calls, checked_session
from server.tool_access import ToolAccess
from tools.failures import Forbidden


class Identify:
    """Sets `principal`, `session` and `expected_calls`. Whoever is over its limit gets no further."""

    def __init__(self, identifier: Identifier, access: ToolAccess, limits: CallerLimits) -> None:
        self._identifier = identifier
        self._access = access
        self._limits = limits

    async def __call__(self, call: Call, inner: Handler) -> Outcome:
        if call.stated.user_conflict:
            raise Forbidden("The user in _meta and the user in the header are not the same.")
        call.principal = await self._identifier.identify(call.stated, call.bearer)
        call.session = checked_session(call.stated.session) or call.transport_session
        self._limits.admit(caller_of(call))
        self._access.check(call.tool.tool, call.principal)
        call.expected_calls = checked_expected_calls(call.stated.expected_calls)
        return await inner(call)
