"""The `traceparent` header is parsed by the rules of W3C Trace Context, level 2."""

from __future__ import annotations

from server.telemetry.events import TraceContext
from tests.support.cases import cases

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@cases(("flags", "sampled"), [("00", False), ("01", True), ("02", False), ("03", True)])
def test_traceparent_is_read_into_ids_and_the_sampled_flag(flags: str, sampled: bool) -> None:
    assert TraceContext.read(f"00-{TRACE}-{SPAN}-{flags}") == TraceContext(int(TRACE, 16), int(SPAN, 16), sampled)


def test_traceparent_of_a_later_version_is_read() -> None:
    assert TraceContext.read(f"cc-{TRACE}-{SPAN}-01-what-the-future-brings") is not None


@cases(
    "malformed",
    [
        None,
        "",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE[1:]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01\n",
        f"00-{TRACE}-{SPAN}",
    ],
)
def test_malformed_traceparent_is_none(malformed: str | None) -> None:
    assert TraceContext.read(malformed) is None
