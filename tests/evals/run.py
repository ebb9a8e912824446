"""Plays a data set with a plain agent and scores it by Strands Evals, without a model as the judge.

Run by a Python that has both, in the project's folder: `python -m tests.evals.run FILE --url http://127.0.0.1:8080/mcp`, with
`--bedrock [MODEL]` for a model of one's own; the agent has the server's tools and no prompt. `--skills` gives it the server's skills.
`--script right` (or `wrong`) plays the expected tools (or those that a wrong answer takes) instead of a model, to try the way.
`--out FILE` keeps what was called and answered, for `python -m tests.evals.judge`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from strands import Agent
from strands.hooks import AfterToolCallEvent
from strands.models import BedrockModel, Model
from strands.tools.mcp import MCPClient
from strands.vended_plugins.skills import AgentSkills, Skill
from strands_evals import Case, Experiment
from strands_evals.evaluators import Evaluator
from strands_evals.tools.evaluation_tools import in_order_match_scorer
from strands_evals.types.evaluation import EvaluationData, EvaluationOutput

Json = dict[str, Any]
PREFIX = "com.mangaassist/"
ERA = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
MONTH = "2026-12"


class ExpectedTools(Evaluator[Any, str]):
    """The share of the expected tools that were called in their order. Passed where it is all, and none of `never` was."""

    def evaluate(self, evaluation_case: EvaluationData[Any, str]) -> list[EvaluationOutput]:
        called = [str(each) for each in evaluation_case.actual_trajectory or []]
        expected = list(evaluation_case.expected_trajectory or [])
        wrong = sorted({*called} & {*(evaluation_case.metadata or {}).get("never", [])})
        score = float(in_order_match_scorer(actual_trajectory=called, expected_trajectory=expected))
        reason = f"called {called}, expected {expected}" + (f", and {wrong} never" if wrong else "")
        return [EvaluationOutput(score=0.0 if wrong else score, test_pass=score == 1.0 and not wrong, reason=reason)]

    async def evaluate_async(self, evaluation_case: EvaluationData[Any, str]) -> list[EvaluationOutput]:
        return self.evaluate(evaluation_case)


class Scripted(Model):
    """Calls the tools of a script with plausible arguments, one a step, and has done."""

    def __init__(self, calls: list[str], says: str, of: str) -> None:
        self._calls, self._says, self._of = iter(calls), says, of

    def get_config(self) -> Json:
        return {}

    def update_config(self, **model_config: Any) -> None:
        pass

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        tool = next(self._calls, None)
        yield {"messageStart": {"role": "assistant"}}
        start = {"toolUse": {"name": tool, "toolUseId": uuid.uuid4().hex}} if tool else None
        yield {"contentBlockStart": {"start": start or {}}}
        given = {"toolUse": {"input": json.dumps(self._arguments(tool, messages))}} if tool else {"text": "That is it."}
        yield {"contentBlockDelta": {"delta": given}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if tool else "end_turn"}}

    def _arguments(self, tool: str, messages: Any) -> Json:
        shown = json.dumps(messages).partition("title_id")[2].partition("manga-")[2][:6]
        title = {"title_id": f"manga-{shown}"} if shown else {}
        return {
            "search_manga_catalog": {"query": self._of or self._says},
            "get_recommendations": {"criteria": self._says},
            "classify_genre": {"text": self._says},
            "remember_preference": {"preference": "no gore"},
            "forget_preference": {"preference": "no gore"},
            "find_volumes": {**title, "volume": "next"} if title else {"month": MONTH},
            "get_manga_details": title or {"title_id": "manga-001001"},
            "lookup_order": {},
        }.get(tool, {"title_ids": [title.get("title_id", "manga-001001")]})


def read_skills(url: str, client: MCPClient) -> list[Skill]:
    """The server's skills as a host takes them: listed, read and verified by their digests."""
    at = urlsplit(url)
    asked = {"jsonrpc": "2.0", "id": 1, "method": "skills/list", "params": {"_meta": ERA}}
    headers = {**HEADERS, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "skills/list"}
    with urlopen(Request(f"{at.scheme}://{at.netloc}/mcp", json.dumps(asked).encode(), headers), timeout=10) as response:
        entries = json.load(response)["result"]["skills"]
    texts = [(entry, client.read_resource_sync(entry["uri"]).contents[0].text) for entry in entries]
    for entry, text in texts:
        digest = next(each["digest"] for each in entry["resources"] if each["uri"] == entry["uri"])
        if digest != f"sha256:{hashlib.sha256(text.encode()).hexdigest()}":
            raise ValueError(f"{entry['uri']} is not what its entry says")
    return [Skill.from_content(text, strict=True) for _, text in texts]


class Player:
    """The task of an experiment: plays a case's turns with an agent of its own, and keeps what was called and answered."""

    def __init__(self, url: str, model: Model | None, script: str, *, skills: bool, out: str | None) -> None:
        self._url, self._model, self._script, self._skills = url, model, script, skills
        self._kept = list[str]()
        self._out = Path(out) if out else None

    def __call__(self, case: Case[Any, str]) -> Json:
        says = [case.input] if isinstance(case.input, str) else case.input
        about = case.metadata or {}
        session, turns, messages = uuid.uuid4().hex, list[Json](), list[Any]()
        for number, (words, customer) in enumerate(zip(says, about["customers"], strict=True), 1):
            meta = {"sessionId": session, "turnId": f"{session}.{number}", **({"userId": customer} if customer else {})}
            stated = {PREFIX + name: value for name, value in meta.items()}
            with MCPClient(url=self._url, meta=stated) as client:
                calls, answer = self._turn(case, words, client, messages)
            turns.append({"says": words, "calls": calls, "answer": answer})
        self._kept.append(json.dumps({"name": case.name, "title": about.get("title"), "turns": turns}))
        if self._out:
            self._out.write_text("\n".join([*self._kept, ""]), "utf-8")
        return {"output": turns[-1]["answer"], "trajectory": [call["name"] for turn in turns for call in turn["calls"]]}

    def _turn(self, case: Case[Any, str], words: str, client: MCPClient, messages: list[Any]) -> tuple[list[Json], str]:
        calls, about = list[Json](), case.metadata or {}

        def hear(event: AfterToolCallEvent) -> None:
            if event.tool_use["name"] in known:
                result = dict(event.result).get("structuredContent")
                calls.append({"name": event.tool_use["name"], "arguments": event.tool_use["input"], "result": result})

        tools = client.list_tools_sync()
        known = {tool.tool_name for tool in tools}
        scripted = about["never"][:1] if self._script == "wrong" else list(case.expected_trajectory or [])
        model = self._model or Scripted(scripted, words, about.get("of", ""))
        plugins = [AgentSkills(read_skills(self._url, client))] if self._skills else []
        agent = Agent(model, messages, tools=[*tools], plugins=plugins, callback_handler=None)
        agent.add_hook(hear, AfterToolCallEvent)
        answer = str(agent(words)).strip()
        messages[:] = agent.messages
        return calls, answer


def main() -> int:
    options = _options()
    model = BedrockModel(model_id=options.bedrock, temperature=0.0) if options.bedrock else None
    experiment = Experiment.from_file(options.file)
    cases = [each for each in experiment.cases if options.only in (each.name or "")][: options.most]
    player = Player(options.url, model, options.script, skills=options.skills, out=options.out)
    report = Experiment(cases=cases, evaluators=[ExpectedTools()]).run_evaluations(player)
    for case, passed, reason in zip(cases, report.test_passes, report.reasons, strict=True):
        if not passed:
            print(f"{case.name}: {reason}")
    passed = sum(report.test_passes)
    print(f"{passed} of {len(cases)} called the right tools, {100 * passed / len(cases):.0f} %")
    return 0 if passed == len(cases) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.evals.run", description=__doc__)
    parser.add_argument("file", help="a file of Strands Evals, as python -m tests.evals writes it")
    parser.add_argument("--url", default="http://127.0.0.1:8080/mcp")
    parser.add_argument("--bedrock", nargs="?", const="global.anthropic.claude-haiku-4-5-20251001-v1:0", metavar="MODEL")
    parser.add_argument("--script", choices=("right", "wrong"), default="right")
    parser.add_argument("--skills", action="store_true")
    parser.add_argument("--only", default="", help="cases with this in their name")
    parser.add_argument("--most", type=int, help="as many cases")
    parser.add_argument("--out", help="a file for what was called and answered, a line a case")
    options = parser.parse_args()
    if not options.bedrock and "conversations" in options.file:
        parser.error("conversations refer to what was shown: they need a model")
    return options


if __name__ == "__main__":
    sys.exit(main())
