"""Which calls are sampled into a trace."""

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
def test_parent_based_sampler_follows_the_sampled_flag_of_the_caller(trace: str, flags: str, wanted: bool) -> None:
    assert sampler(TraceSettings("", ratio=0.5)).wants(call(trace, flags)) is wanted


@cases(("drawn", "wanted"), [(0, True), (2**63 - 1, True), (2**63, False), (2**64 - 1, False)])
def test_sampler_without_a_parent_uses_the_ratio(drawn: int, wanted: bool) -> None:
    assert sampler(TraceSettings("", ratio=0.5), drawn).wants(call()) is wanted


@cases("flags", ["00", "01"])
def test_sampler_that_is_not_parent_based_goes_by_the_trace_id(flags: str) -> None:
    only = sampler(TraceSettings("", parent_based=False, ratio=0.5))
    assert (only.wants(call(LOW, flags)), only.wants(call(HIGH, flags))) == (True, False)


def test_ratio_of_one_samples_every_call_and_zero_none() -> None:
    for ratio, wanted in ((1.0, True), (0.0, False)):
        for drawn in (0, 2**64 - 1):
            assert sampler(TraceSettings("", ratio=ratio), drawn).wants(call()) is wanted


def test_sampled_traces_of_callers_are_exported_at_a_bounded_rate() -> None:
    """Beyond the rate the ratio decides by trace id: a caller that always samples gets no more."""
    clock = HandClock()
    bounded = Sampler(TraceSettings("", ratio=0.5), clock)
    assert sum(bounded.wants(call(HIGH)) for _ in range(1000)) == BY_CALLERS.burst
    assert bounded.wants(call(LOW))
    clock.advance(1)
    assert sum(bounded.wants(call(HIGH)) for _ in range(1000)) == BY_CALLERS.per_second


def test_malformed_traceparent_counts_as_no_parent() -> None:
    mangled = call()
    mangled.metadata = RequestMetadata(traceparent="x")
    assert sampler(TraceSettings("", ratio=1.0)).wants(mangled)
