"""Which calls become part of a trace."""

from __future__ import annotations

from server.call import Call, RequestMetadata
from server.tracing.opening import BY_CALLERS, Sampler, TraceSettings
from tests.support.cases import cases
from tests.support.clocks import HandClock
from tests.support.pipeline import registered

LOW, HIGH = "8" * 16 + "0" * 15 + "1", "8" * 16 + "f" * 16


def call(trace: str | None = None, flags: str = "01") -> Call:
    traceparent = f"00-{trace}-b7ad6b7169203331-{flags}" if trace else None
    return Call("id", registered("check_inventory"), {}, RequestMetadata(traceparent=traceparent), 0.0)


def sampler(sampling: TraceSettings, drawn: int = 0) -> Sampler:
    return Sampler(sampling, HandClock(), lambda bits: drawn)


@cases(("trace", "flags", "wanted"), [(LOW, "00", False), (HIGH, "01", True), (HIGH, "03", True)])
def test_its_caller_decides(trace: str, flags: str, wanted: bool) -> None:
    assert sampler(TraceSettings("", ratio=0.5)).wants(call(trace, flags)) is wanted


@cases(("drawn", "wanted"), [(0, True), (2**63 - 1, True), (2**63, False), (2**64 - 1, False)])
def test_without_a_caller_the_ratio_does(drawn: int, wanted: bool) -> None:
    assert sampler(TraceSettings("", ratio=0.5), drawn).wants(call()) is wanted


@cases("flags", ["00", "01"])
def test_one_that_is_not_parent_based_goes_by_the_traces_id_alone(flags: str) -> None:
    only = sampler(TraceSettings("", parent_based=False, ratio=0.5))
    assert (only.wants(call(LOW, flags)), only.wants(call(HIGH, flags))) == (True, False)


def test_all_and_none() -> None:
    for ratio, wanted in ((1.0, True), (0.0, False)):
        for drawn in (0, 2**64 - 1):
            assert sampler(TraceSettings("", ratio=ratio), drawn).wants(call()) is wanted


def test_callers_cannot_make_it_export_without_limit() -> None:
    """Beyond so many a second the ratio decides, by the trace: whoever sends sampled traces only gets no more than that."""
    clock = HandClock()
    bounded = Sampler(TraceSettings("", ratio=0.5), clock)
    assert sum(bounded.wants(call(HIGH)) for _ in range(1000)) == BY_CALLERS.burst
    assert bounded.wants(call(LOW))
    clock.advance(1)
    assert sum(bounded.wants(call(HIGH)) for _ in range(1000)) == BY_CALLERS.per_second


def test_a_malformed_traceparent_is_no_caller() -> None:
    mangled = call()
    mangled.metadata = RequestMetadata(traceparent="x")
    assert sampler(TraceSettings("", ratio=1.0)).wants(mangled)
