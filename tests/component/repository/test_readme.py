"""The README's conversation, stages, tables and figures agree with the code and the reports."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from server import pipeline
from server.application import Application
from server.config.settings import ROOT, Settings
from server.results import META_KEY
from server.wiring import open_app
from tests.support.calling import called
from tests.support.documents import README, after, blocks, rows

LONGEST = 140


def test_readme_stays_within_its_length() -> None:
    """Longer text belongs into infra/docs, and is linked from the README."""
    assert len(README.splitlines()) <= LONGEST


def test_readme_leads_to_the_page_for_an_own_shop_at_once() -> None:
    """The page's sections are numbered in order, but for the last, of the demo."""
    page = (ROOT / "infra/docs/your-shop.md").read_text("utf-8")
    assert "(infra/docs/your-shop.md)" in "\n".join(README.splitlines()[:10])
    *numbered, last = re.findall(r"^## (.+)", page, re.MULTILINE)
    assert [each.partition(".")[0] for each in numbered] == [str(each) for each in range(1, len(numbered) + 1)]
    assert last == "The demo shop"


def test_stages_in_the_readme_are_those_of_the_pipeline() -> None:
    """The same names, in the same order, as the list in `server/pipeline.py`."""
    body = inspect.getsource(pipeline.build_pipeline).partition("stages: dict[str, Stage] = {")[2].partition("\n    }")[0]
    names = re.findall(r'^\s*"(\w+)": ', body, re.MULTILINE)
    assert re.findall(r"^\d+\. `(\w+)`", after("stages"), re.MULTILINE) == names
    picture = (ROOT / "infra/docs/pipeline.svg").read_text("utf-8")
    drawn = re.findall(r'class="name"[^>]*>(\w+)</text><text class="say"', picture)
    assert drawn == names, "the picture shows other stages"


def test_each_figure_is_in_the_report_that_its_row_names() -> None:
    """The report linked in a row of the page of figures has each of the row's numbers."""
    page, checked = ROOT / "infra/docs/figures.md", 0
    for what, figure, _, report in rows(after("figures")):
        if link := re.search(r"\]\(([^)#]+)", report):
            text = (page.parent / link[1]).read_text("utf-8")
            for number in re.findall(r"(?<![\w@])\.?\d[\d,.]*\d|(?<![\w@.,])\d(?![\d.,])", figure):
                checked += 1
                assert re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d]|[.,]\d)", text), f"{number}: {what}"
    assert checked > 30


def conversation() -> Iterator[tuple[str, dict[str, Any], str, list[str]]]:
    """Each call of the README's conversation: tool, arguments, what the server said, and the lines below that."""
    text = blocks("text", after("conversation"))[0]
    for part in re.split(r"^   model  ", text, flags=re.MULTILINE)[1:]:
        asked, _, rest = part.partition("\n")
        tool, _, arguments = asked.partition(" ")
        said = re.search(r"^  server  (\w+)", rest, re.MULTILINE)
        assert said is not None
        yield tool, json.loads(arguments), said[1], re.findall(r"\b(manga-\d+|MNG-\w+)", rest[said.end() :])


async def whole(app: Application, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The answer once nothing is missing from it: on a busy machine search by meaning may be late at first."""
    async with asyncio.timeout(60):
        while (result := await called(app, tool, arguments))["_meta"][META_KEY]["degraded"]:
            await asyncio.sleep(0.2)  # the encoder has to catch up, and nothing tells when it has
    return result


async def test_conversation_of_the_readme_gives_the_stated_results(tmp_path: Path) -> None:
    """Its calls, in order, in one session, give what it says: the same status, and the same titles and orders."""
    calls = list(conversation())
    assert len(calls) == 3
    async with open_app(Settings(embedder="local", data_dir=tmp_path), local=True) as app:
        await app.ports.prepared()  # the titles' vectors are computed after the start
        for tool, arguments, status, ids in calls:
            result = await whole(app, tool, arguments)
            assert result["isError"] is (status == "error"), (tool, result["structuredContent"])
            text = result["content"][0]["text"]
            assert bool(ids) is (status == "success")
            assert [each for each in ids if each not in text] == [], f"{tool} answers otherwise now; see make agent"
