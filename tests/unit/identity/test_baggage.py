"""The session id is read from W3C baggage among other entries, of up to 8192 characters in all."""

from __future__ import annotations

from server.identity.request_metadata import read_metadata
from tests.support.cases import cases


@cases(
    ("baggage", "session"),
    [
        ("account=a,session.id=s,zone=z", "s"),
        ("account=a", None),
        ("session=a,session.i=b,zone=z", None),
        (" session.id = s ;ttl=1,session.id=other", "s"),
        ("session.id=s,x=" + "y" * (8192 - 15), "s"),
        ("session.id=s,x=" + "y" * (8193 - 15), None),
    ],
)
def test_session_is_read_from_the_baggage_member_session_id(baggage: str, session: str | None) -> None:
    assert read_metadata({"baggage": baggage}, {}).session == session
