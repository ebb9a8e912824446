"""The opening of a call as Redis sees it: the questions that a `BeginRequest` comes to, and what the answers to them say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from session import keys, preferences
from session.begin import BeginRequest, Begun, Claim
from session.history import MOST_CALLS, LastShown, read_calls, read_ids, read_shared
from session.local.turn_arithmetic import Confirmation, TurnArithmetic
from session.recollection import SESSION_TTL_MS
from session.redis.keyvalue import Argument, Command, Evaluation, Reply, Step
from session.resilience.clocks import Clock
from session.resilience.rate_limit import Rate
from session.result_cache import decode
from session.scripts import Script
from session.token_budget import TokenBudget
from session.turn import FLOOR_MS, FORGET_MS, LEASE_MS, RESERVE_MS

CLAIM_TTL_MS = 15_000
"""Outlives the longest call, so that a claimant that died does not block its key for long."""
REMEMBERED = (b"ids", b"query", b"by", b"title_id", b"title", b"order_id", b"listened")
"""Of the session's hash, in the order in which begin.lua answers them: the names of the titles that were shown are worth
their way only where the history was asked for."""


class Opening:
    """Asks for turn, limit, claim and what is remembered, each only where the request wants to know of it."""

    def __init__(self, turns: TurnArithmetic, rate: Rate | None, clock: Clock) -> None:
        self._turns = turns
        self._rate = rate
        self._clock = clock
        self._begin, self._limit, self._claim = Script.load("begin"), Script.load("limit"), Script.load("claim")

    def questions(self, request: BeginRequest, late: Sequence[Argument]) -> dict[str, Step]:
        """The steps of the first trip, by what they ask for. `late` is what the session is to know before it is asked."""
        questions: dict[str, Step] = {}
        if shared := request.shared_turn:
            questions["turn"] = self._ask_turn(request, shared, late)
        if self._rate and request.limited and request.user is not None:
            arguments = (self._rate.per_second, self._rate.burst)
            questions["limit"] = Evaluation(self._limit, (keys.limit(request.user),), arguments)
        if claim := request.claim:
            arguments_ = (claim.arguments, claim.claimant, CLAIM_TTL_MS)
            questions["claim"] = Evaluation(self._claim, (claim.record,), arguments_)
        if request.cached:
            questions["cached"] = Command(("GET", request.cached))
        if request.result_set:
            questions["result_set"] = Command(("GET", request.result_set))
        if request.history and (own := request.session_keys):
            questions["history"] = Command(("LRANGE", own.history, 0, MOST_CALLS - 1))
            questions["titles"] = Command(("HGET", own.base, "titles"))
        if request.preferences:
            questions["preferences"] = Command(("GET", request.preferences))
        return questions

    def _ask_turn(self, request: BeginRequest, shared: tuple[str, str], late: Sequence[Argument]) -> Evaluation:
        turn, name = request.turn, request.turn.name
        turn_age, call_age = self._turns.ages_ms(turn, self._clock())
        stated = -1 if turn.stated_ms is None else turn.stated_ms
        by_session = self._rate is not None and request.limited and request.user is None and request.session is not None
        rate = (self._rate.per_second, self._rate.burst) if self._rate and by_session else (0, 0)
        ttl = SESSION_TTL_MS if request.session else 0
        budget = (self._turns.budget_ms, stated, RESERVE_MS, FLOOR_MS, FORGET_MS)
        tokens = (self._turns.budget_tokens or -1, -1 if turn.stated_tokens is None else turn.stated_tokens)
        own = (ttl, name.field, int(name.named), turn_age, call_age)
        only_calls = (turn.longest_ms + LEASE_MS if self._turns.counts_calls else 0, name.pause_ms)
        return Evaluation(self._begin, shared, (*own, *budget, *rate, *tokens, *only_calls, *late))

    def begun(self, request: BeginRequest, sent: float, answers: Mapping[str, Reply]) -> Begun:
        """What the answers say to questions that left at `sent` (monotonic seconds). Raises TypeError, ValueError,
        LookupError or AttributeError for answers that the scripts do not give."""
        answer = answers.get("turn")
        retry_after_ms = int(answers.get("limit") or 0)
        if answer is not None and answer[0]:
            retry_after_ms = max(retry_after_ms, int(answer[0]))
        if retry_after_ms:
            # A refused call starts no turn, so it is measured by one of its own that nobody keeps.
            return Begun(self._turns.apart(request.turn), retry_after_ms)
        turn, fields, clock = self._turns.apart(request.turn), dict[bytes, bytes | None](), None
        if answer is not None:
            _, elapsed, total, renewed, clock, tokens, spent, *rest = answer
            counted = None if tokens < 0 else TokenBudget(tokens, spent)
            turn = self._turns.confirmed(request.turn, sent, Confirmation(elapsed, total, bool(renewed), clock, counted))
            fields = dict(zip(REMEMBERED, rest, strict=False)) | {b"titles": answers.get("titles")}
        history = answers.get("history")
        return Begun(
            turn,
            last=LastShown.read(fields),
            shared=read_shared(fields),
            said=fields,
            clock_ms=clock,
            listened=bool(fields.get(b"listened")),
            history=None if history is None else read_calls(history),
            claim=Claim.read(answers.get("claim")),
            cached=decode(answers.get("cached")),
            result_set=read_ids(answers.get("result_set")),
            preferences=preferences.decode(answers.get("preferences")),
        )
