"""The session among what else travels in W3C baggage."""

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
    ],
)
def test_the_session_is_the_member_of_that_name_and_no_other(baggage: str, session: str | None) -> None:
    assert read_metadata({"baggage": baggage}, {}).session == session
