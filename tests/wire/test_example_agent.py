"""The example agent in conversation with a real server, and the hook that states whose turn it is."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.agent.bedrock import problem_of
from tests.support.cases import cases
from tests.support.environments import python_of
from tests.support.serving import ROOT, Serving

BOUND_SECONDS = 120
PREFIX = "com.mangaassist/"
USER = "demo-user-1"
ORDER = ["lookup_order", {"order_id": "MNG-DEMO1001"}]
DONE = None
OLDER_SERVERS = """
import json
from dataclasses import astuple, dataclass
from mcp.shared.exceptions import MCPError
from infra.agent.system_prompt import system_prompt

@dataclass
class Older:
    code: int
    server_instructions: str | None

    def get_prompt_sync(self, name, arguments):
        raise MCPError(self.code, "no")

asked = Older(-32601, "Search first."), Older(-32601, None), Older(-32602, "Search first.")
print(json.dumps([astuple(system_prompt(each)) for each in asked]))
"""


def run_where_the_agent_runs(*words: str, stdin: str = "", **aws: str) -> subprocess.CompletedProcess[str]:
    """By the Python of its own environment, in the project's folder, with no AWS settings but the given ones."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return subprocess.run(
        [str(python_of("clients/strands")), *words],
        cwd=ROOT,
        env={**own, **aws},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
    )


def run_agent(url: str, *arguments: str, **aws: str) -> subprocess.CompletedProcess[str]:
    return run_where_the_agent_runs("-m", "infra.agent.agent", "--url", url, *arguments, **aws)


def read_there(expression: str) -> Any:
    """What an expression over the agent's modules comes to."""
    code = f"import json; from infra.agent import agent, turns; print(json.dumps({expression}))"
    done = run_where_the_agent_runs("-c", code)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def transcript(server: Serving) -> str:
    """What the example prints; its exit status says whether every call came to what the script expects."""
    done = run_agent(f"{server.url}/sse")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def turn(session: str, name: str, user: str = USER, steps: int = 1) -> dict[str, Any]:
    return {"session": session, "turn": name, "user": user, "steps": steps}


def converse(server: Serving, script: list[Any], *turns: dict[str, Any]) -> list[dict[str, Any]]:
    """One agent, one connection, one question a turn; the results of all calls as the agent got them."""
    program = "tests/wire/clients/agent_conversation.py"
    asked = json.dumps({"script": script, "turns": turns})
    done = run_where_the_agent_runs(program, f"{server.url}/sse", stdin=asked)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def test_the_conversation_can_be_read(transcript: str) -> None:
    """Every question is there, with the calls, what came back, and an answer made of it."""
    for question, _ in read_there("agent.QUESTIONS"):
        assert question[:40] in transcript
    assert transcript.count("success · ") == 5
    assert "Berserk" in transcript
    assert "understood: finished, at most 9 volumes, without Gore, for all ages" in transcript
    assert "MNG-DEMO1002 is late" in transcript or "MNG-DEMO1002 is in transit" in transcript, "by the day it is read"


def test_the_model_is_told_the_stores_rules(transcript: str) -> None:
    """Not the agent's own words, and not only what every client is told."""
    first = transcript.splitlines()[0]
    assert re.match(r"\s+prompt  shopping_assistant, \d{4} characters: You are the shopping assistant of MangaAssist", first)


def test_a_server_without_the_prompt_has_instructions_and_one_without_these_gets_a_sentence() -> None:
    """What an older server answers is an error of JSON-RPC: no such method, or no such prompt."""
    told = json.loads(run_where_the_agent_runs("-c", OLDER_SERVERS).stdout)
    assert told == [["instructions", "Search first."], ["own words", told[1][1]], ["instructions", "Search first."]]
    assert "what its tools say" in told[1][1]


def test_each_question_is_a_turn_with_its_own_ids(transcript: str) -> None:
    """One session, four turns, the same user, and fewer steps expected as the turn goes on."""
    stated = [
        dict(pair.split("=", 1) for pair in line.split()[1:])
        for line in transcript.splitlines()
        if line.strip().startswith("_meta")
    ]
    assert len({each["sessionId"] for each in stated}) == 1
    assert [each["turnId"].rsplit(".", 1)[1] for each in stated] == ["1", "1", "2", "3", "4", "4"]
    assert {each["userId"] for each in stated} == {USER}
    assert [each["expectedCalls"] for each in stated] == ["2", "1", "1", "1", "2", "1"]
    left = [int(each) for each in re.findall(r"turnBudgetMs=(\d+)", transcript)]
    assert len(left) == len(stated)
    assert all(0 < each <= 3000 for each in left)


def test_the_model_is_given_the_error_and_what_mends_it(transcript: str) -> None:
    """The wrong call is a result with status "error" whose text is the envelope, not an exception."""
    shown = "".join(line.strip() for line in transcript.splitlines())
    assert "error · " in transcript
    assert '"name":"VALIDATION_ERROR"' in shown
    assert '"path":"$.count"' in shown


def test_the_server_believes_each_call_of_one_connection_its_own_user(server: Serving) -> None:
    """Two customers over one client: the order is found for its owner and for nobody else."""
    turns = turn("chat-a", "a.1", "demo-user-1"), turn("chat-b", "b.1", "demo-user-2")
    found = converse(server, [ORDER, DONE, ORDER, DONE], *turns)
    assert found[0]["structuredContent"]["order_id"] == "MNG-DEMO1001"
    assert found[1]["structuredContent"]["error"]["name"] == "NOT_FOUND"


def test_the_server_keeps_the_clock_of_the_turn_that_was_stated(server: Serving) -> None:
    """The budget in each result names the turn of its question; a call later in a turn has less of it left."""
    script = [ORDER, ["search_manga_catalog", {"query": "berserk"}], DONE, ORDER, DONE]
    found = converse(server, script, turn("chat-c", "c.1", steps=2), turn("chat-c", "c.2"))
    budgets = [each["metadata"][PREFIX + "call"]["budget"] for each in found]
    assert [each["turnId"] for each in budgets] == ["c.1", "c.1", "c.2"]
    assert budgets[1]["remainingMs"] < budgets[0]["remainingMs"]


def test_more_rounds_or_thinking_than_reckoned_with_is_no_malformed_call() -> None:
    """Of rounds there is one left, of time nothing; what the agent does not state is not there."""
    turn = "turns.Turn('chat-d', 'd.1', 'somebody', rounds=5, "
    late, unsaid = read_there(f"[{turn} budget_ms=500, began=0).meta(), {turn} began=0).meta()]")
    assert (late[PREFIX + "expectedCalls"], late[PREFIX + "turnBudgetMs"]) == (1, 0)
    assert PREFIX + "turnBudgetMs" not in unsaid


def test_without_a_server_it_says_so_in_one_line() -> None:
    """No traceback for a person who has not started the server yet."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    ended = run_agent(f"http://127.0.0.1:{port}/sse")
    assert ended.returncode == 1
    assert ended.stderr.splitlines() == [f"no server listens at http://127.0.0.1:{port}/sse; start one with: make run"]


NOBODY = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_EC2_METADATA_DISABLED": "true"}
KNOWN = {**NOBODY, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_MAX_ATTEMPTS": "1"}
NOWHERE = {"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "http://127.0.0.1:9"}


@cases(
    ("aws", "said"),
    [
        (NOBODY, "there are no AWS credentials; set AWS_PROFILE"),
        ({**NOBODY, "AWS_PROFILE": "none"}, "there is no such profile; correct AWS_PROFILE"),
        ({**KNOWN, **NOWHERE}, "Bedrock cannot be reached; set AWS_REGION"),
    ],
    ids=["no credentials", "no profile", "no endpoint"],
)
def test_bedrock_that_cannot_be_asked_is_told_in_one_line(aws: dict[str, str], said: str, server: Serving) -> None:
    """Exit status 1, what to do, and no traceback."""
    done = run_agent(f"{server.url}/sse", "--bedrock", **aws)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith(f"amazon.nova-lite-v1:0: {said}")


@cases(
    ("code", "said"),
    [
        ("AccessDeniedException", "ask for access to the model"),
        ("ValidationException", "no such model here"),
        ("ExpiredTokenException", "sign in again"),
        ("SomethingNewException", "Bedrock answered SomethingNewException"),
    ],
)
def test_a_refusal_of_bedrock_is_told_by_its_kind(code: str, said: str) -> None:
    """Whatever Strands wraps it in; and what is not AWS's is nobody's guess."""
    refusal = ClientError({"Error": {"Code": code, "Message": "no"}}, "ConverseStream")
    wrapped = RuntimeError("the event loop")
    wrapped.__cause__ = refusal
    assert said in str(problem_of(wrapped))
    assert problem_of(RuntimeError("of its own")) is None
