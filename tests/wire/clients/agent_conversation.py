"""`StoreTools` in conversations of the test's own; prints what came of each as a line of JSON.

Run by a Python that has Strands, in the project's folder, with a conversation a line on stdin:
`{"url": …, "script": [step, …], "turns": [{says, user, session, …}, …]}`. A step of the model is null (it has done with a turn),
a text, or the calls that it asks for together, `[[tool, arguments], …]`. What else a turn holds are arguments of `StoreTools`;
one with `fresh` is another agent's, as in another process. `"together": n`: no call of the first n goes on before all of them are there.
`"drain": user`: before the first call others are made, until that user may make no more.
`"pause": true`: each turn waits for a line on stdin, after a line on stdout. `"tell": true`: a line on stdout before each call.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from strands import Agent
from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent
from strands.models import Model

from infra.agent.store import Store
from infra.agent.store_tools import StoreTools, ToolOfTurn

Json = dict[str, Any]
BOUND_SECONDS = 30


class Scripted(Model):
    """A model that says and asks what its script has next. `asked` is what it was shown each time."""

    def __init__(self, script: list[Any]) -> None:
        self._script = iter(script)
        self.asked: list[Json] = []

    def get_config(self) -> Json:
        return {}

    def update_config(self, **model_config: Any) -> None:
        pass

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        step, number = next(self._script, None), len(self.asked)
        self.asked.append(json.loads(json.dumps({"messages": messages, "tools": tool_specs, "system": system_prompt})))
        if step == "hang":  # until it is cancelled, as Bedrock's does
            while not kwargs["cancel_signal"].is_set():
                await asyncio.sleep(0.01)
            return
        yield {"messageStart": {"role": "assistant"}}
        for index, (tool, arguments) in enumerate(step if isinstance(step, list) else []):
            yield {"contentBlockStart": {"start": {"toolUse": {"name": tool, "toolUseId": f"use-{number}-{index}"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
            yield {"contentBlockStop": {}}
        if not isinstance(step, list):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": step or "done"}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if isinstance(step, list) else "end_turn"}}


class Ears:
    """What each call stated, and every result as the agent got it."""

    def __init__(self, store: Store, together: int, drained: str | None, tell: bool) -> None:
        self._tell = tell
        self._store, self._drained = store, drained
        self._together, self._here = together, 0
        self._all_here = asyncio.Event()
        self.stated: list[Json] = []
        self.results: list[Json] = []

    def listen(self, agent: Agent) -> None:
        agent.add_hook(self.before, BeforeToolCallEvent)
        agent.add_hook(self.after, AfterToolCallEvent)

    async def before(self, event: BeforeToolCallEvent) -> None:
        self._here += 1
        if self._here >= self._together:
            self._all_here.set()
        await asyncio.wait_for(self._all_here.wait(), BOUND_SECONDS)
        if self._tell:
            print("calling", flush=True)
        if self._drained:
            user, self._drained = self._drained, None
            await asyncio.wait_for(drain(self._store, user), BOUND_SECONDS)
        if isinstance(event.selected_tool, ToolOfTurn):
            self.stated.append(event.selected_tool.meta)

    def after(self, event: AfterToolCallEvent) -> None:
        self.results.append(dict(event.result))


async def converse(asked: Json) -> Json:
    store, model = Store(asked["url"]), Scripted(asked["script"])
    ears = Ears(store, asked.get("together", 1), asked.get("drain"), asked.get("tell", False))
    store.open()
    assert store.wait(BOUND_SECONDS)
    answers, turns, agents = [], [], {}
    for turn in asked["turns"]:
        says, fresh = turn.pop("says", "?"), turn.pop("fresh", False)
        key = json.dumps(turn)
        if fresh or key not in agents:
            tools = StoreTools(store, **turn)
            agents[key] = Agent(model, plugins=[tools], callback_handler=None), tools
            ears.listen(agents[key][0])
        agent, tools = agents[key]
        if asked.get("pause"):
            print("ready", flush=True)
            await asyncio.to_thread(sys.stdin.readline)
        answers.append(str(await agent.invoke_async(says)).strip())
        turns.append({"name": tools.turn.name, "made": tools.turn.made, "kept": len(agent.messages)})
    store.close()
    return {"answers": answers, "turns": turns, "stated": ears.stated, "results": ears.results, "asked": model.asked}


async def drain(store: Store, user: str) -> None:
    """Calls until one is refused."""
    connection = store.connection
    assert connection is not None
    meta = {"com.mangaassist/userId": user}
    for number in count():
        got = await connection.client.call_tool_async(str(number), "get_ratings", {"title_ids": ["manga-002001"]}, meta=meta)
        if got["status"] == "error":
            return


if __name__ == "__main__":
    for line in iter(sys.stdin.readline, ""):
        print(json.dumps(asyncio.run(converse(json.loads(line)))), flush=True)
