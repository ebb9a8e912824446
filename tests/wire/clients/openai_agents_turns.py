"""The example made with OpenAI Agents, in turns of the test's own, with a model that does what a script says.

Run by a Python that has it, in the project's folder, with `{"url": …, "script": [step, …], "turns": [[session, user, question], …]}`
a line on stdin. A step is a text, "hang", or the calls that are asked for together. Prints the answers and what the model was
shown, a line for each.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from agents import ModelResponse, Usage, set_tracing_disabled
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from infra.agent.examples import openai_agents


class Scripted(Model):
    def __init__(self, script: list[Any]) -> None:
        self._script = iter(script)
        self.asked: list[Any] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:  # noqa: A002
        self.asked.append([system_instructions, json.loads(json.dumps(input, default=str))])
        step, number = next(self._script), len(self.asked)
        if step == "hang":
            await asyncio.Event().wait()
        output: list[Any] = []
        for index, (name, arguments) in enumerate(step if isinstance(step, list) else []):
            output.append(
                ResponseFunctionToolCall(
                    type="function_call", call_id=f"call-{number}-{index}", name=name, arguments=json.dumps(arguments)
                )
            )
        if isinstance(step, str):
            text = ResponseOutputText(type="output_text", text=step, annotations=[])
            output.append(
                ResponseOutputMessage(id=f"m-{number}", type="message", role="assistant", status="completed", content=[text])
            )
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


async def main(asked: dict[str, Any]) -> dict[str, Any]:
    set_tracing_disabled(True)
    model = Scripted(asked["script"])
    answers = [await openai_agents.answer(asked["url"], model, *turn) for turn in asked["turns"]]
    return {"answers": answers, "asked": model.asked}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(asyncio.run(main(json.loads(line)))), flush=True)
