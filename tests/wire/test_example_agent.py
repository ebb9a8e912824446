"""The agent in conversation with a real server, as `make agent` prints it, and what it says where Bedrock cannot be asked."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.agent.bedrock import is_hopeless, problem_of
from infra.agent.options import MODEL
from tests.support.cases import cases
from tests.support.serving import Serving
from tests.support.strands_agent import mains_where_the_agent_runs, run_where_the_agent_runs

USER = "demo-user-1"
THERE = """
import json
from dataclasses import dataclass
from mcp.shared.exceptions import MCPError
from infra.agent.agent import QUESTIONS
from infra.agent.store import read_rules
from infra.agent.store_tools import Turn

@dataclass
class Older:
    code: int
    server_instructions: str | None

    def get_prompt_sync(self, name, arguments):
        raise MCPError(self.code, "no")

asked = Older(-32601, "Search first."), Older(-32601, None), Older(-32602, "Search first.")
late = Turn("chat-d", None, rounds=5, budget_ms=500, began=0).meta()
print(json.dumps({"questions": QUESTIONS, "late": late, "rules": [read_rules(each) for each in asked]}))
"""


def run_agent(url: str, *arguments: str, **aws: str) -> subprocess.CompletedProcess[str]:
    return run_where_the_agent_runs("-m", "infra.agent.agent", "--url", url, *arguments, **aws)


@pytest.fixture(scope="module")
def there() -> Any:
    """What the agent's modules come to where they run."""
    done = run_where_the_agent_runs("-c", THERE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def transcript(server: Serving) -> str:
    """What the example prints; its exit status says whether every call came to what is expected."""
    done = run_agent(f"{server.url}/sse")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_printed_conversation_has_every_question_call_and_answer(transcript: str, there: Any) -> None:
    """Each question is printed with its calls, their results and an answer made of them."""
    for question, _ in there["questions"]:
        assert question.partition("{")[0][:40] in transcript
    assert transcript.count("success · ") == 5
    assert "Here is what I found: Berserk (¥693" in transcript
    shown = " ".join(transcript.split())
    assert re.search("understood: .*finished, at most 9 volumes, without Gore", shown)
    assert "MNG-DEMO1002 (late)" in transcript or "MNG-DEMO1002 (in transit)" in transcript, "by the day it is read"


def test_model_gets_the_rules_from_the_assistant_prompt(transcript: str) -> None:
    """They are neither the agent's own words nor only the instructions that every client gets."""
    first = transcript.splitlines()[0]
    assert re.match(r"\s+prompt  shopping_assistant, \d{4} characters: You are the shopping assistant of MangaAssist", first)


def test_agent_falls_back_from_prompt_to_instructions_to_its_own_words(there: Any) -> None:
    """An older server answers with a JSON-RPC error: no such method, or no such prompt."""
    told = there["rules"]
    assert told == [["Search first.", "instructions"], [told[1][0], "own words"], ["Search first.", "instructions"]]
    assert "what its tools say" in told[1][0]


def test_each_question_is_a_turn_of_one_session_with_falling_budget(transcript: str) -> None:
    """The session and the user stay, four turns are named, and the expected calls fall within a turn."""
    shown = " ".join(transcript.split())
    assert len(set(re.findall(r"sessionId=(\S+)", shown))) == 1
    turns = re.findall(r"turnId=(\S+)", shown)
    assert [turns.index(each) for each in turns] == [0, 0, 2, 3, 4, 4]
    assert set(re.findall(r"userId=(\S+)", shown)) == {USER}
    assert re.findall(r"expectedCalls=(\d)", shown) == ["2", "1", "1", "1", "2", "1"]
    left = [int(each) for each in re.findall(r"turnBudgetMs=(\d+)", shown)]
    assert len(left) == len(turns)
    assert all(0 < each <= 3000 for each in left)


def test_patience_is_the_time_that_a_turn_states(server: Serving) -> None:
    done = run_agent(f"{server.url}/sse", "--patience-ms", "8000")
    left = [int(each) for each in re.findall(r"turnBudgetMs=(\d+)", "".join(done.stdout.split()))]
    assert 3000 < max(left) <= 8000


def test_model_gets_the_error_envelope_of_its_wrong_call(transcript: str) -> None:
    """The wrong call is a result with status "error" whose text is the envelope, and not an exception."""
    shown = "".join(line.strip() for line in transcript.splitlines())
    assert "error · " in transcript
    assert '"name":"VALIDATION_ERROR"' in shown
    assert '"path":"$.count"' in shown


def test_overrun_of_rounds_and_time_is_stated_as_one_call_and_zero_ms(there: Any) -> None:
    """A budget that the agent does not state is absent."""
    late = there["late"]
    prefix = "com.mangaassist/"
    assert (late[prefix + "expectedCalls"], late[prefix + "turnBudgetMs"]) == (1, 0)
    assert not {prefix + "userId", prefix + "userToken", prefix + "tokenBudget"} & set(late)


def test_missing_server_is_reported_in_one_line() -> None:
    """A user who has not started the server gets no traceback."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    ended = run_agent(f"http://127.0.0.1:{port}/sse")
    assert ended.returncode == 1
    assert ended.stderr.splitlines() == [f"no server listens at http://127.0.0.1:{port}/sse; start one with: make run"]


NOBODY = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "AWS_EC2_METADATA_DISABLED": "true"}
KNOWN = {**NOBODY, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_MAX_ATTEMPTS": "1"}
NOWHERE = {"AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "http://127.0.0.1:9"}


def test_unreachable_bedrock_is_reported_in_one_line(server: Serving) -> None:
    """The exit status is 1, with a remedy and no traceback; one case runs in a process of its own."""
    moods = [
        (NOBODY, "there are no AWS credentials; set AWS_PROFILE"),
        ({**NOBODY, "AWS_PROFILE": "none"}, "there is no such profile; correct AWS_PROFILE"),
        ({**KNOWN, **NOWHERE}, "Bedrock cannot be reached; set AWS_REGION"),
    ]
    done = run_agent(f"{server.url}/sse", "--bedrock", **NOBODY)
    assert "MANGA_TURN_CLOCK=tools" in done.stdout, "what a slower model needs"
    asked = ("--url", f"{server.url}/sse", "--bedrock")
    others = mains_where_the_agent_runs(*((asked, aws) for aws, _ in moods[1:]))
    for (_, said), (status, told) in zip(moods, [(done.returncode, done.stderr), *others], strict=True):
        assert status == 1, said
        assert len(told.splitlines()) == 1, told
        assert told.startswith(f"{MODEL}: {said}")


@cases(
    ("code", "said", "hopeless"),
    [
        ("AccessDeniedException", "ask for access to the model", True),
        ("ValidationException", "no such model here", True),
        ("ExpiredTokenException", "sign in again", True),
        ("ThrottlingException", "try again later", False),
        ("SomethingNewException", "Bedrock answered SomethingNewException", False),
    ],
)
def test_bedrock_error_code_is_reported_by_kind(code: str, said: str, hopeless: bool) -> None:
    """Strands may wrap the error in any exception; errors that are not AWS's are not guessed at."""
    refusal = ClientError({"Error": {"Code": code, "Message": "no"}}, "ConverseStream")
    wrapped = RuntimeError("the event loop")
    wrapped.__cause__ = refusal
    assert said in str(problem_of(wrapped))
    assert is_hopeless(wrapped) is hopeless
    assert problem_of(RuntimeError("of its own")) is None
