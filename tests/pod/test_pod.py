"""Both images as one task: what they may do, a conversation, a crash, an end, and a deployment while customers talk."""

from __future__ import annotations

import json
import re

import pytest

from tests.pod.engine import Engine, EngineError
from tests.pod.pod import AGENT_MEMORY, SIDECAR_MEMORY, Pod, running
from tests.pod.talkers import Talkers

PROMISED_SECONDS = 3.0
"""In which every turn is answered, whatever the store does."""
PATIENT = ("--patience-ms", "8000")
"""Where it is about answers that are lost: none is given up because the machine is busy."""
PEOPLE = 4
pytestmark = pytest.mark.timeout(900)


def both(pod: Pod) -> list[str]:
    return [pod.sidecar, pod.agent]


def test_neither_may_more_than_it_needs(pod: Pod) -> None:
    """Not root, no capabilities and none to be had, a root that cannot be written and a /tmp that can."""
    for container in both(pod):
        status = pod.in_span(container, "cat", "/proc/1/status")
        assert re.search(r"^Uid:\s+10001\s+10001", status, re.MULTILINE), container
        assert re.search(r"^CapEff:\s+0+$", status, re.MULTILINE), container
        assert re.search(r"^NoNewPrivs:\s+1$", status, re.MULTILINE), container
        with pytest.raises(EngineError, match="Read-only file system"):
            pod.in_span(container, "touch", "/app/written")
        pod.in_span(container, "touch", "/tmp/written")


def test_they_share_a_loopback_and_have_no_other_network(pod: Pod) -> None:
    seen = [pod.in_span(each, "python", "-c", "import os; print(os.readlink('/proc/1/ns/net'))") for each in both(pod)]
    assert seen[0] == seen[1]
    for container in both(pod):
        devices = pod.in_span(container, "cat", "/proc/net/dev").splitlines()[2:]
        assert [each.split(":")[0].strip() for each in devices] == ["lo"]


def test_each_has_its_limit_of_memory(pod: Pod) -> None:
    """As the kernel has it, whichever control groups it has."""
    read = "cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes"
    limits = [f"{int(pod.in_span(each, 'sh', '-c', read)) >> 20}m" for each in both(pod)]
    assert limits == [SIDECAR_MEMORY, AGENT_MEMORY]


def test_a_conversation_runs(pod: Pod) -> None:
    """With tools, through the door, for the customer whose token it is, and for nobody else."""
    found = pod.chat("c-1", "dark fantasy with swords and demons")
    assert found["outcome"] == "answered"
    assert "¥" in found["answer"]
    assert "delivered" in pod.chat("c-1", "and where is MNG-DEMO1001?")["answer"]
    foreign = pod.chat("c-2", "and where is MNG-DEMO1001?", user="demo-user-2")
    assert (foreign["outcome"], "delivered" in foreign["answer"]) == ("failed", False)


def test_the_door_refuses_who_shows_no_token_and_what_is_too_long(pod: Pod) -> None:
    status, told = pod.at_the_door("/turns", {"text": "hello"})
    assert (status, "token" in told) == (401, True)
    status, told = pod.at_the_door("/turns", {"text": "hello"}, {"Authorization": "Bearer a.b.c"})
    assert (status, "token" in told) == (401, True)
    token = json.loads(pod.at_the_door("/token", {"user": "demo-user-1"})[1])["token"]
    bearer = {"Authorization": f"Bearer {token}", "X-Session-ID": "c-3"}
    assert pod.at_the_door("/turns", {"text": "x" * 20_000}, bearer)[0] == 413
    status, told = pod.at_the_door("/turns", {"text": "my orders", "user": "demo-user-2"}, bearer)
    assert (status, "VALIDATION_ERROR" in told) == (400, True)


def test_a_crash_of_the_sidecar_is_survived(pod: Pod) -> None:
    """Whoever asks meanwhile is told so, in time; afterwards the same agent has its tools again, over another connection."""
    before = pod.restarts(pod.sidecar)
    with Talkers(pod).talking(PEOPLE) as talkers:
        pod.wait("answered", lambda: "answered" in talkers.outcomes())
        pod.kill(pod.sidecar)
        pod.wait("away", lambda: "store_away" in talkers.outcomes())
        pod.wait("connected again", pod.connected)
        came_back = len(talkers.turns)
        pod.wait("answering again", lambda: any(each.outcome == "answered" for each in talkers.turns[came_back:]))
    print(f"a crash: {talkers.figures()}")
    assert [each for each in talkers.turns if each.error] == []
    assert talkers.outcomes() <= {"answered", "store_away", "late", "cut", "failed"}, "in words, whatever came of it"
    assert max(each.seconds for each in talkers.turns) < PROMISED_SECONDS
    assert (pod.restarts(pod.sidecar) - before, pod.restarts(pod.agent)) == (1, 0)


def test_an_end_loses_no_answer(engine: Engine) -> None:
    """Questions that are open at SIGTERM are answered with the store's tools: the sidecar ends last. Both exit with 0."""
    with running(engine, "manga-pod-end", "--thinking-ms", "300", *PATIENT) as pod:
        with Talkers(pod, most_turns=1).talking(PEOPLE * 2) as talkers:
            pod.wait("busy", lambda: pod.health()["open_turns"] == PEOPLE * 2)
            statuses = pod.stop_in_order()
        print(f"an end: {talkers.figures()}")
        assert [each.outcome for each in talkers.turns] == ["answered"] * PEOPLE * 2, talkers.turns
        assert statuses == (0, 0)


def test_a_deployment_under_load_fails_no_turn(engine: Engine) -> None:
    """A second task comes up, becomes healthy and gets the traffic; then the first is stopped."""
    with (
        running(engine, "manga-pod-old", *PATIENT) as old,
        Talkers(old).talking(PEOPLE) as talkers,
        running(engine, "manga-pod-new", *PATIENT) as new,
    ):
        old.wait("answered", lambda: "answered" in talkers.outcomes())
        talkers.to = new
        statuses = old.stop_in_order()
        new.wait("taken over", lambda: sum(each.pod == new.name for each in talkers.turns) > 10 * PEOPLE)
        talkers.end()
    print(f"a deployment: {talkers.figures()}")
    assert [each for each in talkers.turns if each.outcome != "answered"] == []
    assert {each.pod for each in talkers.turns} == {old.name, new.name}
    assert statuses == (0, 0)
