"""The data sets are what both loaders take, and a scripted agent on the real server is scored by them, right and wrong."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conversations.agent import Agent, Heard
from tests.conversations.script import load_all
from tests.conversations.shelf import Shelf
from tests.conversations.shop import TRANSPORT, SdkLine
from tests.evals.__main__ import loaded, write
from tests.evals.data import conversations, routing
from tests.evals.judge import problems, share
from tests.support.clients import Connections, OfSdk
from tests.support.environments import python_of
from tests.support.serving import ROOT, Serving, served
from tools.registry import TOOLS

PAIRS = 60
SAMPLE = "routing-1"
"""Prices, details, volumes, releases."""
BOUND_SECONDS = 240


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("shop")
    flags = folder / "flags.json"
    flags.write_text('{"enable_price_comparison_tool": true}', "utf-8")
    with served(folder / "server", folder / "cache", MANGA_EMBEDDER="none", MANGA_FLAGS_URL=flags.as_uri()) as serving:
        yield serving


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {path.name: path for path in write(tmp_path_factory.mktemp("sets"))}


def test_both_loaders_take_every_file(files: dict[str, Path]) -> None:
    told = loaded(list(files.values()))
    talks = len(load_all())
    assert f"strands-routing.json: Strands Evals: {2 * PAIRS} cases" in told
    assert f"agentcore-routing.json: AgentCore Evaluations: {2 * PAIRS} scenarios" in told
    assert f"strands-conversations.json: Strands Evals: {talks} cases" in told
    assert f"agentcore-conversations.json: AgentCore Evaluations: {talks} scenarios" in told
    steps = [line.partition(", ")[2] for line in told.splitlines()]
    assert steps[0] == steps[1]
    assert steps[2] == steps[3]


def test_a_loader_refuses_what_is_no_data_set(tmp_path: Path) -> None:
    for name, text in (("strands-x.json", '{"cases": [{"name": "x"}], "evaluators": []}'), ("agentcore-x.json", "{}")):
        (tmp_path / name).write_text(text, "utf-8")
        with pytest.raises(subprocess.CalledProcessError):
            loaded([tmp_path / name])


def test_the_same_bytes_are_written_each_time(files: dict[str, Path], tmp_path: Path) -> None:
    assert [each.read_bytes() for each in write(tmp_path)] == [each.read_bytes() for each in files.values()]


def test_a_pair_is_two_questions_with_other_answers() -> None:
    asked = list(routing())
    assert len({each.says for each in asked}) == len(asked) == 2 * PAIRS
    for one, other in zip(asked[::2], asked[1::2], strict=True):
        assert one.calls != other.calls, one.says
        assert not {*one.calls} & {*one.never}
    languages = Counter(each.about["language"] for each in asked)
    assert min(languages["en"], languages["ja"]) >= PAIRS - 4
    last = Counter(each.calls[-1] for each in asked)
    assert set(last) == {tool.name for tool in TOOLS} - {"preview_manga_pages"}, "which shows and answers nothing"
    assert min(last.values()) >= 4


def score(shop: Serving, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [str(python_of("clients/evals")), "-m", "tests.evals.run", str(file), "--url", f"{shop.url}/mcp", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=BOUND_SECONDS, check=False)


def test_an_agent_that_calls_the_right_tools_is_passed(shop: Serving, files: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    done = score(shop, files["strands-routing.json"], "--only", SAMPLE, "--most", "8", "--out", str(out))
    assert "8 of 8 called the right tools, 100 %" in done.stdout, done.stderr
    assert done.returncode == 0
    played = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    results = [call["result"] for each in played for turn in each["turns"] for call in turn["calls"]]
    assert [each["error"]["name"] for each in results if "error" in each] == [], "it was on the server, and with sense"


def test_one_that_calls_the_wrong_ones_is_not(shop: Serving, files: dict[str, Path]) -> None:
    done = score(shop, files["strands-routing.json"], "--only", SAMPLE, "--script", "wrong", "--most", "4")
    assert "0 of 4 called the right tools, 0 %" in done.stdout, done.stderr
    assert done.returncode == 1


def test_a_host_of_skills_takes_all_of_them(shop: Serving, files: dict[str, Path]) -> None:
    """Strands' own plugin, with the digests verified."""
    done = score(shop, files["strands-routing.json"], "--only", "routing-01", "--skills")
    assert done.returncode == 0, done.stderr


def test_the_judge_passes_what_holds_what_it_must_and_nothing_else(tmp_path: Path) -> None:
    scripted = next(
        each for each in load_all() if any(line.text.startswith("every") for line in each.turns[0].calls[0].lines)
    )
    name = scripted.turns[0].calls[0].name
    nothing: list[Any] = [{"calls": []} for _ in scripted.turns]
    assert list(problems(scripted, nothing))[0] == f"turn 1: {name} was not called"
    empty: list[Any] = [{"calls": [{"name": name, "result": {"results": [], "items": []}}]} for _ in scripted.turns]
    assert "every" in list(problems(scripted, empty))[0]
    out = tmp_path / "out.jsonl"
    out.write_text(json.dumps({"name": "x", "title": scripted.name, "turns": nothing}) + "\n", "utf-8")
    assert share(out) == 0
    assert len(list(conversations())) == len(load_all())


@dataclass
class Kept:
    """A line to a server that keeps what was answered."""

    line: SdkLine
    calls: list[dict[str, Any]] = field(default_factory=list)

    async def ask(self, how: str, name: str, arguments: Any, stated: Any) -> Heard:
        heard = await self.line.ask(how, name, arguments, stated)
        self.calls.append({"turn": stated["turnId"], "name": name, "result": heard.value})
        return heard


async def test_what_the_scripted_agent_is_passed_for_the_judge_passes(shop: Serving, tmp_path: Path) -> None:
    with closing(Connections(tmp_path / "clients", tmp_path / "cache")) as connections:
        client = connections.open(TRANSPORT, shop.url)
        assert isinstance(client, OfSdk)
        orders = [each for each in load_all() if each.topic == "orders" and not each.known]
        judged = 0
        for each in orders[:6]:
            kept = Kept(SdkLine(client))
            assert await Agent(kept, Shelf.of_the_demo()).play(each) == []
            by_turn = {call["turn"]: [other for other in kept.calls if other["turn"] == call["turn"]] for call in kept.calls}
            if len(by_turn) == len(each.turns):  # nothing was asked again
                judged += 1
                assert list(problems(each, [{"calls": calls} for calls in by_turn.values()])) == []
        assert judged
