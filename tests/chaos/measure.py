"""What a scenario's samples come to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.chaos.bars import SERVER_GRACE, Json, Measured, Spread, Window
from tests.chaos.faults import Fault
from tests.chaos.heartbeat import STALL_SECONDS, Held

AFTER_THE_END = 0.050
CLIENT_GRACE = 0.050
JUST_BEFORE = 0.050
"""Seconds before an answer is due in which it is put together: if the machine takes them, it comes later."""
ONSET_SECONDS = 0.3
"""How long after its beginning a fault may still see answers to questions that were under way."""
NOTHING_STARTS = 0.3
"""Seconds before a turn's end from which on nothing is started: the agent's reserve, and the least that a call is given."""
ANSWERED = ("search_manga_catalog", "get_manga_details", "check_inventory")
LEAST_GOOD = 4
HOLD_TITLES = {"opensearch", "dynamodb"}
"""The backends that have a record of every title."""


@dataclass(frozen=True, slots=True)
class Told:
    """Everything that was told, by the server and by its clients."""

    answers: Sequence[Json]
    samples: Sequence[Json]
    server_held: Held
    client_held: Held

    def within(self, window: Window) -> Told:
        """Of a scenario's time alone."""
        answers = [each for each in self.answers if window.began <= each["arrived"] <= window.closed]
        samples = [each for each in self.samples if window.began <= each["sent"] <= window.closed]
        return Told(answers, samples, self.server_held, self.client_held)


def measure(name: str, faults: Mapping[str, Fault], window: Window, told: Told) -> Measured:
    """Every sample counts, without the time for which the machine held up the processes that it went through."""
    told = told.within(window)
    server, both = told.server_held, told.server_held | told.client_held
    took = [_without(server, each["arrived"], each["sent"]) for each in told.answers]
    waited = [_without(both, each["sent"], each["done"]) for each in told.samples]
    lateness = [_late(server, _latest(each), each["sent"]) for each in told.answers]
    asked = [each for each in told.samples if each["tool"] in ANSWERED and not _beyond_all(each, faults)]
    return Measured(
        name=name,
        backends=tuple(faults),
        fault=" + ".join(dict.fromkeys(fault.name for fault in faults.values())),
        calls=len(told.samples),
        server=Spread.of(took),
        client=Spread.of(waited),
        late=sum(each > SERVER_GRACE for each in lateness),
        worst_late_ms=1000 * max(lateness, default=0.0),
        late_after_end=sum(s > AFTER_THE_END for s, each in zip(took, told.answers, strict=True) if _is_over(each)),
        over=sum(_late(both, _due(each), each["done"]) > CLIENT_GRACE for each in told.samples),
        held=both.seconds(window.began, window.closed) / (window.closed - window.began),
        unstructured=tuple(each["unstructured"] for each in told.samples if "unstructured" in each),
        usable=sum("source" in each for each in asked) / max(1, len(asked)),
        untrue=tuple(_untrue(told.samples, faults, window)),
        errors=Counter(each["error"] for each in told.samples if "error" in each),
        sources=Counter(_sources(told.samples, window)),
        recovery=max(recovered(backend, told.samples, both, window.ended) for backend in faults),
        unusable=Counter(f"{each['tool']} {each['error']}" for each in asked if "error" in each),
        offenders=tuple(_offenders(told.answers, lateness, window)),
        waits=tuple(round(1000 * each, 1) for each in waited),
    )


def _beyond_all(sample: Json, faults: Mapping[str, Fault]) -> bool:
    """Whether nobody is left who could answer: details of a title that no process has seen, while both the catalogue and the
    store are troubled. An honest error is all that can be asked for; that it is one is asked of every sample."""
    return "error" in sample and sample["tool"] == "get_manga_details" and set(faults) >= HOLD_TITLES


def _untrue(samples: Sequence[Json], faults: Mapping[str, Fault], window: Window) -> Iterator[str]:
    for each in samples:
        yield from each.get("untruths", ())
        if wrong := impossible(each, faults, window):
            yield wrong


def _sources(samples: Sequence[Json], window: Window) -> Iterator[str]:
    """While the fault was there, but for its first moments."""
    return (_mixed(each) for each in samples if window.began + ONSET_SECONDS <= each["sent"] <= window.ended)


def _offenders(answers: Sequence[Json], lateness: Sequence[float], window: Window) -> Iterator[str]:
    for each, late in zip(answers, lateness, strict=True):
        if late > SERVER_GRACE:
            took, since = 1000 * (each["sent"] - each["arrived"]), each["arrived"] - window.began
            over = ", turn over" if _is_over(each) else ""
            who = f"{each['tool']} by {each['transport']}"
            yield f"{who}: {took:.0f} ms, {1000 * late:.0f} late, {since:.2f} s after the beginning{over}"


def _without(held: Held, since: float, until: float) -> float:
    """Returns the seconds that something took, but for those in which the machine held it up."""
    return until - since - held.seconds(since, until)


def _late(held: Held, due: float, done: float) -> float:
    """Returns by how many seconds something was late. What the machine took long before it was due is no excuse."""
    return done - due - (held.seconds(due - JUST_BEFORE, done) if done > due else 0.0)


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


def recovered(backend: str, samples: Iterable[Json], held: Held, since: float) -> float:
    """Seconds from a fault's end until answers that show its backend well, with none after them that shows it ill, other than
    those that the machine itself held up by over 20 ms."""
    later = [(each, well(backend, each)) for each in samples if each["sent"] >= since]
    seen_ill = [each for each, is_well in later if is_well is False]
    ill = [each for each in seen_ill if held.seconds(each["sent"] - JUST_BEFORE, each["done"]) <= STALL_SECONDS]
    last_ill = max((each["sent"] for each in ill), default=since)
    good = [each["done"] - since for each, is_well in later if is_well and each["sent"] >= last_ill]
    return min(good, default=math.inf)


def settled(backends: Iterable[str], samples: Sequence[Json], since: float) -> bool:
    """The last few answers that show anything of each of the backends show it well."""

    def of(backend: str) -> list[bool]:
        later = sorted((each for each in samples if each["sent"] >= since), key=lambda each: each["sent"])
        return [is_well for each in later if (is_well := well(backend, each)) is not None][-LEAST_GOOD:]

    return all(len(last := of(backend)) == LEAST_GOOD and all(last) for backend in backends)
