"""The opening of a call as Redis sees it: the questions that a `BeginRequest` comes to, and what the answers to them say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from session import keys, preferences
from session.begin import BeginRequest, Begun, Claim, decode
from session.history import MOST_CALLS, HistoryEntry, LastShown, Recollection, by_groups, read_calls, read_ids, read_shared
from session.keys import SessionKeys
from session.local.turns import Confirmation, TurnArithmetic
from session.redis.keyvalue import Argument, Command, Evaluation, Reply, Step
from session.resilience.clocks import Clock
from session.resilience.rate_limit import Rate
from session.scripts import Script
from session.turn import FLOOR_MS, FORGET_MS, LEASE_MS, RESERVE_MS, TokenBudget

SESSION_TTL_MS = 30 * 60 * 1000
TOTALS = ("calls", "failures", "cache_hits", "latency_ms", "tokens_out")
LARGEST_WHOLE = 16 * 1024
"""Bytes of a packed result that is kept whole: 20 titles with everything are a third of it, and there are five a session."""
Group = tuple[str, int, Mapping[str, str]]
"""A group of `STATE`, since when it is so in ms of Redis's clock, and its fields."""


class Recording:
    """What is written of a session, each in one atomic step."""

    def __init__(self) -> None:
        self._record, self._remember = Script.load("record"), Script.load("remember")

    def step(
        self,
        own: SessionKeys,
        at_ms: int,
        entry: HistoryEntry,
        shown: LastShown | None = None,
        shared: Mapping[str, str] | None = None,
        whole: bytes = b"",
    ) -> Step:
        """`shared` holds what changes of the shared values, "" for what is not known any more; `whole` is the packed result
        behind a shortened one, kept under the entry's `result`; `at_ms` is now, by Redis's clock."""
        groups = by_groups({**(shown.fields if shown else {}), **(shared or {})})
        numbers = (int(entry.succeeded), int(entry.cache_hit), entry.latency_ms, entry.tokens)
        kept = b"%s %s" % (entry.result.encode(), whole) if entry.result else b""
        state = state_arguments((name, at_ms, fields) for name, fields in groups.items())
        arguments: list[Argument] = [SESSION_TTL_MS, entry.as_json(), *numbers, kept, *state]
        return Evaluation(self._record, (own.base, own.history, own.results), arguments)

    def late(self, own: SessionKeys, groups: Iterable[Group]) -> Step:
        """What a session is to know of earlier calls."""
        return Evaluation(self._remember, (own.base,), (SESSION_TTL_MS, *state_arguments(groups)))


def state_arguments(groups: Iterable[Group]) -> list[Argument]:
    """As state.lua takes them."""
    arguments: list[Argument] = []
    for name, at_ms, fields in groups:
        arguments += (name, at_ms, len(fields), *(each for pair in fields.items() for each in pair))
    return arguments


def reading(own: SessionKeys) -> list[Step]:
    return [Command(("LRANGE", own.history, 0, MOST_CALLS - 1)), Command(("HGETALL", own.base))]


def read(replies: Sequence[Reply]) -> Recollection:
    """What the answers to `reading` say."""
    history, stored = replies
    fields = dict(zip(stored[::2], stored[1::2], strict=True))
    totals = {name: int(fields.get(name.encode(), 0)) for name in TOTALS}
    return Recollection(read_calls(history), totals, LastShown.read(fields), read_shared(fields))


def whole_of(kept: Sequence[bytes], name: str) -> bytes | None:
    """The packed result of that name among those that a session keeps."""
    begins = name.encode("utf-8", "replace") + b" "
    return next((each.removeprefix(begins) for each in kept if each.startswith(begins)), None)


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
