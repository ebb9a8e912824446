"""What the agent has done outside of its network: words to a socket, and the issuer's keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.door.outside import MOST_BYTES, keys, post
from tests.support.cases import cases


class Driver:
    class exceptions:
        class GoneException(Exception): ...

    def __init__(self, problem: type[Exception] | None = None) -> None:
        self.problem, self.sent, self.closed = problem, [], []  # type: ignore[var-annotated]

    def post_to_connection(self, ConnectionId: str, Data: bytes) -> None:
        if self.problem:
            raise self.problem("of the customer")
        self.sent.append((ConnectionId, Data))

    def delete_connection(self, ConnectionId: str) -> None:
        self.closed.append(ConnectionId)


def test_a_message_is_sent_as_it_is() -> None:
    driver = Driver()
    assert post(driver, "c-1=", {"event": "words", "text": "作者"}) == {"status": 200}
    ((connection, data),) = driver.sent
    assert (connection, json.loads(data)) == ("c-1=", {"event": "words", "text": "作者"})
    assert driver.closed == []


@cases(("problem", "status"), [(Driver.exceptions.GoneException, 410), (RuntimeError, 502)])
def test_what_was_not_sent_is_a_status(problem: Any, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert post(Driver(problem), "c-1=", {"event": "words"}) == {"status": status}
    assert "customer" not in capsys.readouterr().out


def test_what_no_frame_holds_is_not_sent() -> None:
    driver = Driver()
    assert post(driver, "c-1=", {"text": "x" * MOST_BYTES}) == {"status": 502}
    assert driver.sent == []


def test_keys_come_over_https_alone() -> None:
    with pytest.raises(ValueError, match="https"):
        keys("http://issuer.example/jwks.json")
