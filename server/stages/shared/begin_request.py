"""What a call asks of memory at its beginning, and what it may believe of the answer."""

from __future__ import annotations

from dataclasses import replace

from server.call import Call
from server.identity.request_metadata import (
    checked_budget_ms,
    checked_history,
    checked_key,
    checked_token_budget,
    checked_turn,
)
from server.stages.shared.echoes import opened, words
from server.stages.shared.result_keys import cache_key
from server.stages.shared.stated import heeds
from session import keys
from session.begin import BeginRequest, Begun, ClaimRequest
from session.result_cache import CachedResult, digest
from session.turn import TurnName, TurnRequest

SKEW_SECONDS = 60.0
"""The clocks of two hosts may differ by so much. What was made later than that is from nobody's clock."""


def begin_request(call: Call, *, cache: bool) -> BeginRequest:
    """Puts the question together. Raises `InvalidArguments` for what the caller said of turn, budget or key."""
    user, session = call.principal.user, call.session
    name = checked_turn(call.metadata)
    turn_key = f"{session or ''}|{keys.user_hash(user)}|{name.field}"
    wanted_set = call.arguments.get("result_set")
    return BeginRequest(
        session=session,
        user=user,
        turn=_turn_request(call, turn_key, name),
        limited=True,
        claim=_claim(call),
        cached=cache_key(call) if cache else None,
        result_set=keys.result_set(str(wanted_set).lower()) if wanted_set else None,
        history=checked_history(call.metadata.history),
        preferences=keys.preferences(user) if user is not None and heeds(call) else None,
        interval=call.interval,
    )


def _turn_request(call: Call, key: str, name: TurnName) -> TurnRequest:
    left_ms = checked_budget_ms(call.metadata.turn_budget_ms)
    tokens, longest_ms = checked_token_budget(call.metadata.token_budget), call.tool.tool.timeout_ms
    return TurnRequest(key, name, call.arrived, left_ms, tokens, longest_ms)


def _claim(call: Call) -> ClaimRequest | None:
    key = checked_key(call.metadata.idempotency_key)
    user, session = call.principal.user, call.session
    tool = call.tool.tool
    if key is None or tool.personal or not tool.recorded or (user is None and session is None):
        return None
    whose = ("impersonal",) if call.impersonal else ()
    return ClaimRequest(keys.idempotency(user, session, key), digest(call.name, call.arguments, *whose), call.call_id)


def without_foreign_results(call: Call, begun: Begun, now: float) -> Begun:
    """Returns it without results that this version could not have written, or that nobody wrote yet: they are as if there
    were none, and the call that finds one writes a right one in its place."""
    claim = begun.claim
    if claim is not None and claim.result is not None and not _ours(call, claim.result, now):
        claim = replace(claim, result=None)
    cached = _opened(call, begun.cached) if begun.cached is not None else None
    begun.cached = cached if cached is not None and _ours(call, cached, now) else None
    begun.claim = claim
    return begun


def _opened(call: Call, kept: CachedResult) -> CachedResult | None:
    value = opened(kept.value, call.tool.tool.echoes, call.arguments, words(call))
    return None if value is None else replace(kept, value=value)


def _ours(call: Call, result: CachedResult, now: float) -> bool:
    return 0 <= result.made_at <= now + SKEW_SECONDS and call.tool.fits(result.value)
