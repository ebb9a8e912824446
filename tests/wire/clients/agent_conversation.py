"""The example agent's hooks in a conversation of the test's own; prints the results of all calls as JSON.

Run by a Python that has Strands, in the project's folder: `python agent_conversation.py URL`, with a conversation on stdin:
`{"script": [[tool, arguments] or null, …], "turns": [{session, turn, user, steps}, …]}`. Where the script says null, the model
has done with a turn.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from mcp.client.sse import sse_client
from strands import Agent
from strands.hooks import AfterToolCallEvent, HookProvider, HookRegistry
from strands.tools.mcp import MCPClient

from infra.agent.scripted import ScriptedModel, Use
from infra.agent.turns import StateTheTurn, Turn

Json = dict[str, Any]


class Results(HookProvider):
    """Every tool result, as the agent got it."""

    def __init__(self) -> None:
        self.seen: list[Json] = []

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        registry.add_callback(AfterToolCallEvent, lambda event: self.seen.append(dict(event.result)))


def done(results: list[Json]) -> str:
    return "done"


def converse(url: str, script: list[list[Any] | None], turns: list[Json]) -> list[Json]:
    """One agent, one connection, one question a turn."""
    results = Results()
    steps = [done if each is None else Use(*each) for each in script]
    with MCPClient(lambda: sse_client(url)) as client:
        hooks = [StateTheTurn(), results]
        agent = Agent(ScriptedModel(steps), tools=client.list_tools_sync(), hooks=hooks, callback_handler=None)
        for turn in turns:
            agent("?", invocation_state={"turn": Turn(**turn)})
    return results.seen


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    print(json.dumps(converse(sys.argv[1], asked["script"], asked["turns"])))
