"""Callers of the agent's service: customers by an issuer's token, and the WebSocket door by its secret."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.agent_service import BOUND_SECONDS, Json, Service, service
from tests.support.cases import cases
from tests.support.issuer import AUDIENCE, FAILING, Issuer, SigningKey, issuing
from tests.support.outside import Outside, outside
from tests.support.serving import Serving, served

SECRET = "between-the-door-and-us"
STORE_TOKEN = "a-secret-of-thirty-two-characters-or-more"
QUESTION = b'{"text": "where is MNG-DEMO1001?"}'
MOST_OF_ONE = 10
"""Turns of one customer at once (`infra.agent.service`, whose environment is another)."""
AT = {"X-Session-ID": "proven"}
FROM_DOOR = {"X-Door-Secret": SECRET, "X-Door-Connection": "L0SM9cOFvHcCIhw=", "X-Door-User": "demo-user-1"}


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as own:
        yield own


@pytest.fixture(scope="module")
def beyond() -> Iterator[Outside]:
    with outside() as own:
        yield own


def believing(issuer: Issuer, keys: str | None = None) -> dict[str, str]:
    proof = {"AGENT_JWT_ISSUER": issuer.name, "AGENT_JWT_AUDIENCE": f"another, {AUDIENCE}"}
    return {**proof, "AGENT_JWT_JWKS_URL": keys or issuer.jwks_url}


def answering(beyond: Outside, callback: str | None = None) -> dict[str, str]:
    return {"AGENT_DOOR_SECRET": SECRET, "AGENT_CALLBACK_URL": callback or beyond.url}


@pytest.fixture(scope="module")
def agent(server: Serving, issuer: Issuer, beyond: Outside) -> Iterator[Service]:
    with service(f"{server.url}/sse", environment=believing(issuer) | answering(beyond)) as started:
        started.connected()
        yield started


def bearing(token: str) -> dict[str, str]:
    return {**AT, "Authorization": f"Bearer {token}"}


def test_user_is_the_subject_of_the_token(agent: Service, issuer: Issuer) -> None:
    """Any other statement of a user is ignored; customers do not see the agent's tool calls."""
    said = {**bearing(issuer.token()), "X-User-ID": "demo-user-2", "X-Door-User": "demo-user-2", "X-Door-Secret": SECRET}
    answer = agent.answer("where is MNG-DEMO1001?", "proven", user=None, headers=said)
    assert "MNG-DEMO1001 (delivered)" in answer["answer"]
    assert not {"outcome", "calls", "spent"} & set(answer)
    other = agent.answer("where is MNG-DEMO1001?", "proven", user=None, headers=bearing(issuer.token("demo-user-2")))
    assert other["answer"].startswith("I could not look that up")


def test_agent_with_its_own_bearer_speaks_for_each_customer(issuer: Issuer, tmp_path: Path, cache: Path) -> None:
    """The store believes the agent; a conversation goes on in a second process of it."""
    settings = believing(issuer) | {"AGENT_STORE_TOKEN": STORE_TOKEN}
    mine, strangers = bearing(issuer.token()), bearing(issuer.token("demo-user-2"))
    options = {"MANGA_EMBEDDER": "none", "MANGA_AUTH": "token", "MANGA_AUTH_TOKENS": STORE_TOKEN}
    with served(tmp_path, cache, **options) as guarded:
        with service(f"{guarded.url}/sse", environment=settings) as first:
            first.connected()
            assert "MNG-DEMO1001 (delivered)" in first.answer("MNG-DEMO1001?", "own", None, mine)["answer"]
            assert "MNG-DEMO1001" not in first.answer("MNG-DEMO1001?", "own", None, strangers)["answer"]
            shown = first.answer("berserk", "own", None, mine)["answer"]
        title = shown.removeprefix("Here is what I found: ").partition(" (")[0]
        with service(f"{guarded.url}/sse", environment=settings) as second:
            second.connected()
            said = second.answer("is the first one in stock?", "own", None, mine)["answer"]
            assert re.fullmatch(rf"Here is what I found: {re.escape(title)} \([^;]+\)\.", said)


def test_missing_or_wrong_token_gets_401(agent: Service, issuer: Issuer) -> None:
    """The answer states the scheme, and repeats nothing of the token."""
    wrong = {
        "none": AT,
        "no bearer": {**AT, "Authorization": "Basic eDp5"},
        "no token": bearing("hunter2"),
        "expired": bearing(issuer.token(exp=int(time.time()) - 60)),
        "no end": bearing(issuer.token(exp=None)),
        "another issuer": bearing(issuer.token(iss="https://elsewhere")),
        "another audience": bearing(issuer.token(aud="https://elsewhere", client_id=None)),
        "bound to a key": bearing(issuer.token(cnf={"jkt": "x"})),
        "a machine's": bearing(issuer.token(gty="client-credentials")),
        "a client's own": bearing(issuer.token("client-1", client_id="client-1")),
        "an odd audience": bearing(issuer.token(aud=[{"of": "whom"}])),
        "another algorithm": bearing(issuer.token(key=issuer.keys[1])),
        "a stranger's key": bearing(issuer.token(key=SigningKey.rsa("rsa-1"))),
        "unsigned": bearing(issuer.keys[0].signed({"alg": "none"}, issuer.claims())),
    }
    for what, headers in wrong.items():
        status, refusal = agent.ask("POST", "/turns", QUESTION, headers)
        assert (status, refusal["error"]["name"]) == (401, "UNAUTHORIZED"), what
        assert "hunter2" not in refusal["error"]["message"]


def test_last_keys_are_used_while_the_issuer_is_away(agent: Service, issuer: Issuer) -> None:
    """Keys once read stay valid."""
    agent.answer("where is MNG-DEMO1001?", "proven", user=None, headers=bearing(issuer.token()))
    issuer.behaves = FAILING
    try:
        answer = agent.answer("where is MNG-DEMO1001?", "proven", user=None, headers=bearing(issuer.token()))
    finally:
        issuer.behaves = "well"
    assert "MNG-DEMO1001" in answer["answer"]


def test_door_message_gets_202_and_the_answer_by_callback(agent: Service, beyond: Outside) -> None:
    assert agent.ask("POST", "/door", QUESTION, FROM_DOOR) == (202, {})
    told = beyond.told()
    assert {connection for connection, _ in told} == {"L0SM9cOFvHcCIhw="}
    assert [message["event"] for _, message in told] == ["words"] * (len(told) - 1) + ["done"]
    assert "MNG-DEMO1001 (delivered)" in "".join(message["text"] for _, message in told[:-1])
    assert set(told[-1][1]) == {"event", "turn", "ms", "part"}
    assert [message["part"] for _, message in told] == [*range(1, len(told) + 1)]
    assert set(beyond.secrets) == {SECRET}


def test_token_counts_as_long_on_a_socket_as_over_https(agent: Service, issuer: Issuer, beyond: Outside) -> None:
    ended = int(time.time()) - 1
    assert agent.ask("POST", "/turns", QUESTION, bearing(issuer.token(exp=ended)))[0] == 401
    assert agent.ask("POST", "/door", QUESTION, {**FROM_DOOR, "X-Door-Until": str(ended)})[0] == 202
    assert beyond.told()[-1][1]["name"] == "UNAUTHORIZED"


def test_log_has_a_line_for_each_question_and_nothing_of_its_customer(
    server: Serving, issuer: Issuer, beyond: Outside, tmp_path: Path
) -> None:
    """Over both ways: answered, refused with a status, and refused with an event."""
    settings = believing(issuer) | answering(beyond)
    token, path = issuer.token(), tmp_path / "log"
    with path.open("wb") as log, service(f"{server.url}/sse", environment=settings, log=log) as agent:
        agent.connected()
        agent.answer("where is MNG-DEMO1001?", "proven", None, bearing(token))
        assert agent.ask("POST", "/turns", QUESTION, AT)[0] == 401
        for headers in (FROM_DOOR, {**FROM_DOOR, "X-Door-Until": "1"}):
            assert agent.ask("POST", "/door", QUESTION, headers)[0] == 202
            beyond.told()
        assert agent.ask("POST", "/door", QUESTION, {**FROM_DOOR, "X-Door-Secret": "x"})[0] == 401
        agent.process.terminate()
        assert agent.process.wait(BOUND_SECONDS) == 0
    said = path.read_text("utf-8")
    lines = re.findall(r"^INFO infra\.agent\.service: (/\w+ \d+ \w+) \d+ ms$", said, re.MULTILINE)
    assert sorted(lines) == [
        "/door 202 answered",
        "/door 401 UNAUTHORIZED",
        "/door 401 UNAUTHORIZED",
        "/turns 200 answered",
        "/turns 401 UNAUTHORIZED",
    ]
    for secret in ("demo-user-1", "MNG-DEMO1001", "proven", token, SECRET, FROM_DOOR["X-Door-Connection"]):
        assert secret not in said


def test_second_message_on_a_socket_waits_for_the_first_and_has_its_own_time(
    server: Serving, issuer: Issuer, beyond: Outside
) -> None:
    """Neither answer is cut short, and their words do not mix."""
    with service(f"{server.url}/sse", "--thinking-ms", "900", environment=answering(beyond)) as agent:
        agent.connected()
        socket = {**FROM_DOOR, "X-Door-Connection": "two-at-once="}
        for number in (1001, 1002):
            text = json.dumps({"text": f"where is MNG-DEMO{number}?"}).encode()
            assert agent.ask("POST", "/door", text, socket)[0] == 202
        first, second = (beyond.told() for _ in range(2))
    assert [told[-1][1]["event"] for told in (first, second)] == ["done", "done"]
    for told, number in ((first, 1001), (second, 1002)):
        words = "".join(message["text"] for _, message in told[:-1])
        assert f"MNG-DEMO{number} (" in words
        assert words.count("MNG-DEMO") == words.count(str(number))
        assert told[-1][1]["ms"] < 3000


def test_answers_to_a_message_with_a_session_carry_it(agent: Service, beyond: Outside) -> None:
    """A client with two conversations on one socket can tell their answers apart."""
    assert agent.ask("POST", "/door", b'{"text": "where is MNG-DEMO1001?", "session": "mine"}', FROM_DOOR)[0] == 202
    assert {message["session"] for _, message in beyond.told()} == {"mine"}


def test_redirect_of_the_keys_address_is_not_followed(server: Serving, issuer: Issuer) -> None:
    asked: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(302)
            self.send_header("Location", issuer.jwks_url)
            self.end_headers()

        def log_message(self, *ignored: object) -> None:
            """Tests print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as moved:
        threading.Thread(target=moved.serve_forever, daemon=True).start()
        settings = believing(issuer, f"http://127.0.0.1:{moved.server_port}/keys")
        with service(f"{server.url}/sse", environment=settings) as agent:
            agent.connected()
            assert agent.ask("POST", "/turns", QUESTION, bearing(issuer.token()))[0] == 401
        moved.shutdown()
    assert asked == ["/keys"]


def test_door_request_with_a_wrong_secret_gets_401(agent: Service) -> None:
    for wrong in ({"X-Door-Secret": "x"}, {"X-Door-Secret": ""}):
        status, refusal = agent.ask("POST", "/door", QUESTION, {**FROM_DOOR, **wrong})
        assert (status, refusal["error"]["name"]) == (401, "UNAUTHORIZED")


@cases(
    ("headers", "body", "name"),
    [
        ({}, b'{"text": "m", "user": "demo-user-2"}', "VALIDATION_ERROR"),
        ({}, b'{"text": "m", "session": "a b"}', "VALIDATION_ERROR"),
        ({"X-Door-Until": "1"}, QUESTION, "UNAUTHORIZED"),
        ({"X-Door-Until": "9" * 5000}, QUESTION, "UNAUTHORIZED"),
        ({}, b'{"text": "%s"}' % (b"m" * 17_000), "VALIDATION_ERROR"),
    ],
    ids=["a user", "odd session", "signed out", "no time", "too long"],
)
def test_refused_message_is_answered_with_an_error_event(
    agent: Service, beyond: Outside, headers: dict[str, str], body: bytes, name: str
) -> None:
    assert agent.ask("POST", "/door", body, {**FROM_DOOR, **headers})[0] == 202
    ((_, message),) = beyond.told()
    assert (message["event"], message["name"]) == ("error", name)


def test_lost_callback_is_retried_once_and_none_sent_to_a_closed_socket(agent: Service, beyond: Outside) -> None:
    until = str(int(time.time()) + 60)
    for lost in (502, 302):  # the door's words are for the door, wherever it says that it has moved
        beyond.statuses[:] = [lost]
        agent.ask("POST", "/door", QUESTION, {**FROM_DOOR, "X-Door-Until": until})
        first, again, *_ = beyond.told()
        assert first == again
    beyond.statuses[:] = [410]
    agent.ask("POST", "/door", QUESTION, FROM_DOOR)
    beyond.posted.get(timeout=30)
    agent.until(lambda health: bool(health["open_turns"] == 0))
    agent.ask("POST", "/door", b'{"text": "MNG-DEMO1001?", "session": "after"}', FROM_DOOR)
    texts: list[Json] = [message for _, message in beyond.told()]
    assert [each["event"] for each in texts] == ["words", "done"]


def test_keys_and_callbacks_may_go_through_a_lambda_function(server: Serving, issuer: Issuer, beyond: Outside) -> None:
    """The function fetches the keys and delivers the words of answers."""
    beyond.keys = issuer.jwks
    settings = believing(issuer, "lambda:outside") | answering(beyond, "lambda:outside") | beyond.environment
    with service(f"{server.url}/sse", environment=settings) as agent:
        agent.connected()
        answer = agent.answer("where is MNG-DEMO1001?", "proven", user=None, headers=bearing(issuer.token()))
        assert "MNG-DEMO1001 (delivered)" in answer["answer"]
        agent.ask("POST", "/door", QUESTION, FROM_DOOR)
        assert beyond.told()[-1][1]["event"] == "done"


def test_keys_may_be_read_from_a_file(server: Serving, issuer: Issuer, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps(issuer.jwks), "utf-8")
    with service(f"{server.url}/sse", environment=believing(issuer, keys.as_uri())) as agent:
        agent.connected()
        answer = agent.answer("where is MNG-DEMO1001?", "proven", user=None, headers=bearing(issuer.token()))
    assert "MNG-DEMO1001 (delivered)" in answer["answer"]


def test_one_customer_flooding_the_agent_does_not_block_others(server: Serving, issuer: Issuer, beyond: Outside) -> None:
    """A flood over both ways is refused with a message, and its customer may ask once a turn is over."""
    settings = believing(issuer) | answering(beyond)
    with (
        service(f"{server.url}/sse", "--thinking-ms", "700", environment=settings) as agent,
        ThreadPoolExecutor(60) as asking,
    ):
        agent.connected()
        greedy, modest = bearing(issuer.token("greedy")), bearing(issuer.token())
        statuses = [asking.submit(_status, agent, {**greedy, "X-Session-ID": f"greedy-{each}"}) for each in range(50)]
        agent.until(lambda health: health["open_turns"] >= MOST_OF_ONE)
        assert agent.ask("POST", "/door", QUESTION, {**FROM_DOOR, "X-Door-User": "greedy"})[0] == 202
        refused = beyond.posted.get(timeout=30)[1]
        assert (refused["event"], refused["name"]) == ("error", "RATE_LIMITED")
        assert "MNG-DEMO1001 (delivered)" in agent.answer("where is MNG-DEMO1001?", "modest", None, modest)["answer"]
        told = Counter(each.result() for each in statuses)
        assert told.keys() == {200, 429}
        assert told[200] >= MOST_OF_ONE
        assert _status(agent, greedy) == 200


def _status(agent: Service, headers: dict[str, str]) -> int:
    with closing(HTTPConnection("127.0.0.1", agent.port, timeout=BOUND_SECONDS)) as connection:
        connection.request("POST", "/turns", QUESTION, headers)
        response = connection.getresponse()
        response.read()
        return response.status
