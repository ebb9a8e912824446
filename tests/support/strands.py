"""Strands' clients, in a process and an environment of their own: it pins an older SDK than the server runs on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.answers import Answer, Json, RpcError, meta_of
from tests.support.driver import Driver
from tests.support.environments import ROOT, python_of

PROGRAM = ROOT / "tests" / "wire" / "clients" / "strands_driver.py"


@dataclass(frozen=True, slots=True)
class OfStrands:
    """The agent framework's client, in whichever era it negotiates by itself."""

    driver: Driver
    name: str

    async def tools(self) -> list[Json]:
        listed = await self.driver.asked("tools", client=self.name)
        return [_plain_tool(tool["spec"], tool["title"]) for tool in listed]

    async def call(self, tool: str, arguments: Json | None = None, **stated: Any) -> Answer:
        raw = await self.raw_call(tool, arguments, **stated)
        texts = tuple(block["text"] for block in raw["content"])
        if "structuredContent" not in raw:
            raise RpcError(None, texts[0])
        return Answer(raw["status"] == "error", raw["structuredContent"], texts, raw.get("metadata", {}))

    async def raw_call(self, tool: str, arguments: Json | None = None, traced: Json | None = None, **stated: Any) -> Json:
        """What Strands hands to its agent. `traced` is OpenTelemetry's context around the call (see strands_driver.py)."""
        asked = {"tool": tool, "arguments": arguments or {}, "meta": meta_of(stated), "traced": traced}
        return dict(await self.driver.asked("call", client=self.name, **asked))

    async def models_call(self, tool: str, arguments: Json) -> Json:
        """The same through the tool object that an agent holds."""
        return dict(await self.driver.asked("tool", client=self.name, tool=tool, arguments=arguments))

    async def read(self, uris: Sequence[str], prompts: Mapping[str, Json]) -> Json:
        """What it lists of resources, templates and prompts, and what it reads of them (see strands_driver.py)."""
        return dict(await self.driver.asked("read", client=self.name, uris=uris, prompts=prompts))


class StrandsDriver:
    """Starts the one process of a test run when the first of its clients is opened."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._driver: Driver | None = None
        self._names = (f"client-{number}" for number in itertools.count(1))

    def open(self, target: Json, on_tools_changed: Callable[[list[str]], None] | None = None) -> OfStrands:
        """`on_tools_changed` gets the names of the tools, on another thread."""
        driver, name = self._running(), next(self._names)
        if on_tools_changed is not None:
            driver.listen(name, lambda said: on_tools_changed(said["tools"]))
        driver.ask("open", client=name, target=target, listen=on_tools_changed is not None)
        return OfStrands(driver, name)

    def close(self) -> None:
        if self._driver is not None:
            self._driver.close()

    def _running(self) -> Driver:
        if self._driver is None:
            command = [str(python_of("clients/strands")), str(PROGRAM)]
            self._driver = Driver(command, self._folder / "strands.log")
        return self._driver


def _plain_tool(spec: Mapping[str, Any], title: str | None) -> Json:
    plain = {"name": spec["name"], "title": title, "description": spec["description"]}
    schemas = {name: spec[name]["json"] for name in ("inputSchema", "outputSchema")}
    return {**plain, **schemas, "annotations": spec["annotations"]}
