"""What a scenario's samples come to, and the bars that they are held against."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.faults import Fault
from tests.chaos.heartbeat import Stall

Json = dict[str, Any]
SERVER_GRACE = 0.020
AFTER_THE_END = 0.050
CLIENT_GRACE = 0.050
ONSET_SECONDS = 0.3
"""How long after its beginning a fault may still see answers to questions that were under way."""
NOTHING_STARTS = 0.3
"""Seconds before a turn's end from which on nothing is started: the agent's reserve, and the least that a call is given."""
ANSWERED = ("search_manga_catalog", "get_manga_details", "check_inventory")
LEAST_GOOD = 4


@dataclass(frozen=True, slots=True)
class Bars:
    """`late` and `over` are shares: answers that left the server over 20 ms after their deadline, answers that clients got
    over 50 ms after the budget; `stragglers` are as many as never count. `latest_ms` is how late a single one may be."""

    late: float
    latest_ms: float
    over: float
    usable: float
    recovery_seconds: float
    stragglers: int = 0

    def too_many(self, found: int, share: float, calls: int) -> bool:
        return found > max(self.stragglers, share * calls)


STRICT = Bars(late=0.0, latest_ms=1000 * SERVER_GRACE, over=0.001, usable=0.99, recovery_seconds=5.0)
FORGIVING = Bars(late=0.02, latest_ms=400.0, over=0.02, usable=0.97, recovery_seconds=15.0, stragglers=3)
"""For CI, whose machines do other things as well: still far from what a product does that waits for a backend."""


@dataclass(frozen=True, slots=True)
class Window:
    """A scenario's times: the fault, and until when was looked."""

    began: float
    ended: float
    closed: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Milliseconds."""

    p50: float
    p99: float
    p999: float
    most: float

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Spread:
        ordered = sorted(seconds)
        if not ordered:
            return cls(0.0, 0.0, 0.0, 0.0)
        picked = [ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] for share in (0.5, 0.99, 0.999)]
        return cls(*(1000 * each for each in (*picked, ordered[-1])))


@dataclass(frozen=True, slots=True)
class Measured:
    """One scenario's figures. `late` are the server's answers after their deadline, `over` those that clients got after
    their turn's budget, both without the excluded ones."""

    name: str
    backends: tuple[str, ...]
    fault: str
    calls: int
    server: Spread
    client: Spread
    late: int
    worst_late_ms: float
    late_after_end: int
    over: int
    excluded: int
    unstructured: tuple[str, ...]
    usable: float
    untrue: tuple[str, ...]
    errors: Mapping[str, int]
    sources: Mapping[str, int]
    recovery: float
    waits: tuple[float, ...] = ()
    """Of each call at the client, in ms, for the plots."""
    unusable: Mapping[str, int] = field(default_factory=dict)
    offenders: tuple[str, ...] = ()
    """Each late answer, for whoever looks for the reason."""

    def missed(self, bars: Bars = STRICT) -> list[str]:
        """The bars that were missed, in words."""
        only_redis = self.backends == ("redis",)
        calls, late, after = self.calls, self.late, self.late_after_end
        found = {
            f"{self.late} of {self.calls} answers late, by {self.worst_late_ms:.0f} ms": bars.too_many(
                late, bars.late, calls
            ),
            f"an answer was {self.worst_late_ms:.0f} ms late": self.worst_late_ms > bars.latest_ms,
            f"{self.late_after_end} calls of turns that were over took too long": bars.too_many(after, bars.late, calls),
            f"{self.over} of {self.calls} answers came after the budget": bars.too_many(self.over, bars.over, calls),
            f"{len(self.unstructured)} unstructured errors: {self.unstructured[:3]}": self.unstructured,
            f"{self.usable:.1%} of searches, details and stock usable: {dict(self.unusable)}": self.usable < bars.usable,
            f"untrue labels: {Counter(self.untrue).most_common(3)}": self.untrue,
            f"errors with only Redis at fault: {dict(self.errors)}": only_redis and self.errors,
            f"recovered after {self.recovery:.1f} s": self.recovery > bars.recovery_seconds,
        }
        return [words for words, holds in found.items() if holds]


@dataclass(frozen=True, slots=True)
class Told:
    """Everything that was told, by the server and by its clients."""

    answers: Sequence[Json]
    samples: Sequence[Json]
    server_stalls: Sequence[Stall]
    client_stalls: Sequence[Stall]


def measure(name: str, faults: Mapping[str, Fault], window: Window, told: Told) -> Measured:
    answers = [each for each in told.answers if window.began <= each["arrived"] <= window.closed]
    samples = [each for each in told.samples if window.began <= each["sent"] <= window.closed]
    stalls = [*told.server_stalls, *told.client_stalls]
    kept = [each for each in answers if not _stalled(told.server_stalls, each["arrived"], each["sent"])]
    seen = [each for each in samples if not _stalled(stalls, each["sent"], each["done"])]
    lateness = [each["sent"] - _latest(each) for each in kept]
    after_end = [each for each in kept if _is_over(each)]
    untrue = [wrong for each in samples for wrong in each.get("untruths", ())]
    untrue += [wrong for each in samples if (wrong := impossible(each, faults, window))]
    asked = [each for each in samples if each["tool"] in ANSWERED]
    return Measured(
        name=name,
        backends=tuple(faults),
        fault=" + ".join(dict.fromkeys(fault.name for fault in faults.values())),
        calls=len(seen),
        server=Spread.of(each["sent"] - each["arrived"] for each in kept),
        client=Spread.of(each["done"] - each["sent"] for each in seen),
        late=sum(each > SERVER_GRACE for each in lateness),
        worst_late_ms=1000 * max(lateness, default=0.0),
        late_after_end=sum(each["sent"] - each["arrived"] > AFTER_THE_END for each in after_end),
        over=sum(each["done"] > _due(each) + CLIENT_GRACE for each in seen),
        excluded=len(samples) - len(seen) + len(answers) - len(kept),
        unstructured=tuple(each["unstructured"] for each in samples if "unstructured" in each),
        usable=sum("source" in each for each in asked) / max(1, len(asked)),
        untrue=tuple(untrue),
        errors=Counter(each["error"] for each in samples if "error" in each),
        sources=Counter(_mixed(each) for each in samples if window.began + ONSET_SECONDS <= each["sent"] <= window.ended),
        recovery=max(recovered(backend, samples, stalls, window.ended) for backend in faults),
        unusable=Counter(f"{each['tool']} {each['error']}" for each in asked if "error" in each),
        offenders=tuple(
            f"{each['tool']} by {each['transport']}: {1000 * (each['sent'] - each['arrived']):.0f} ms, {1000 * late:.0f} late, "
            f"{each['arrived'] - window.began:.2f} s after the beginning{', turn over' if _is_over(each) else ''}"
            for each, late in zip(kept, lateness, strict=True)
            if late > SERVER_GRACE
        ),
        waits=tuple(round(1000 * (each["done"] - each["sent"]), 1) for each in seen),
    )


def _stalled(stalls: Sequence[Stall], since: float, until: float) -> bool:
    return any(stall.touches(since, until) for stall in stalls)


def _due(sample: Json) -> float:
    """The turn's end, or for who asks after it what the server has then."""
    return max(float(sample["began"] + sample["total"]), float(sample["sent"] + AFTER_THE_END))


def _latest(answer: Json) -> float:
    """When an answer had to have left: what was refused before it got a deadline is refused at once."""
    if answer["deadline"] is None or _is_over(answer):
        return float(answer["arrived"] + AFTER_THE_END - SERVER_GRACE)
    return float(answer["deadline"])


def _is_over(answer: Json) -> bool:
    return answer["turn_ends"] is not None and answer["arrived"] >= answer["turn_ends"] - NOTHING_STARTS


def _mixed(sample: Json) -> str:
    """How an answer came about, for the plot: partial is live without something."""
    if "source" not in sample:
        return "error"
    without = [what for what in sample["degraded"] if what != "session"]
    return "partial" if sample["source"] == "live" and without else str(sample["source"])


def impossible(sample: Json, faults: Mapping[str, Fault], window: Window) -> str | None:
    """An answer that claims what a backend in the dark cannot have given."""
    inside = window.began + ONSET_SECONDS <= sample["sent"] and sample["done"] <= window.ended
    if not inside or "source" not in sample:
        return None
    dark = {backend for backend, fault in faults.items() if fault.dark}
    live, degraded = sample["source"] == "live", sample["degraded"]
    search = sample["tool"] == "search_manga_catalog"
    if "opensearch" in dark and live and search and sample["new"]:
        return "a live search without a catalogue"
    if "bedrock" in dark and live and search and sample["new"] and "vector" not in degraded:
        return "a search by meaning without an embedder"
    if "dynamodb" in dark and live and sample["tool"] in ("check_inventory", "lookup_order"):
        return "live stock without a stock"
    if "redis" in dark and "session" not in degraded:
        return "a remembered session without a memory"
    return None


def well(backend: str, sample: Json) -> bool | None:
    """Whether an answer shows that a backend is back, or that it is not; None where it shows neither."""
    source, degraded, tool = sample.get("source"), sample.get("degraded", ()), sample["tool"]
    search = tool == "search_manga_catalog" and sample["new"]
    match backend:
        case "redis":
            return "session" not in degraded
        case "opensearch":
            return source == "live" if search else None
        case "bedrock":
            return "vector" not in degraded if search and source == "live" else None
        case _:
            if tool == "lookup_order":
                return source is not None
            return "stock" not in degraded and source == "live" if tool == "check_inventory" and source != "cache" else None


def recovered(backend: str, samples: Iterable[Json], stalls: Sequence[Stall], since: float) -> float:
    """Seconds from a fault's end until answers that show its backend well, with none after them that shows it ill, other than
    those that the machine itself held up."""
    later = [(each, well(backend, each)) for each in samples if each["sent"] >= since]
    ill = [each for each, is_well in later if is_well is False and not _stalled(stalls, each["sent"], each["done"])]
    last_ill = max((each["sent"] for each in ill), default=since)
    good = [each["done"] - since for each, is_well in later if is_well and each["sent"] >= last_ill]
    return min(good, default=math.inf)


def settled(backends: Iterable[str], samples: Sequence[Json], since: float) -> bool:
    """The last few answers that show anything of each of the backends show it well."""

    def of(backend: str) -> list[bool]:
        later = sorted((each for each in samples if each["sent"] >= since), key=lambda each: each["sent"])
        return [is_well for each in later if (is_well := well(backend, each)) is not None][-LEAST_GOOD:]

    return all(len(last := of(backend)) == LEAST_GOOD and all(last) for backend in backends)
