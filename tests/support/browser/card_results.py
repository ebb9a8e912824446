"""What the cards are drawn from in the kept pictures: results of the demo server, recorded, since stock and orders have a date.

`python -m tests.support.browser.card_results` asks a server for them again.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.browser.host_backend import Json, OfServer, backend_of
from tests.support.serving import served

FOLDER = Path(__file__).resolve().parents[2] / "browser" / "results"
PREVIEW_ON = '{"enable_manga_preview_tool": true}'
CALL = "com.mangaassist/call"
KEPT_META = ("com.mangaassist/card",)
TRIES = 5


@dataclass(frozen=True, slots=True)
class Example:
    """A call, by the name of the card that shows its result."""

    card: str
    tool: str
    arguments: Json

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.card}.json"

    @property
    def result(self) -> Json:
        return json.loads(self.path.read_text("utf-8"))


EXAMPLES = (
    Example("search", "search_manga_catalog", {"query": "fantasy adventure", "max_results": 3}),
    Example("title", "get_manga_details", {"title_id": "manga-001016"}),
    Example("stock", "check_inventory", {"title_ids": ["manga-001001", "manga-001016"]}),
    Example("order", "lookup_order", {"order_id": "MNG-DEMO1002"}),
    Example("preview", "preview_manga_pages", {"title_id": "manga-001016", "volume": 1}),
)
BY_CARD = {each.card: each for each in EXAMPLES}


def settings(folder: Path) -> dict[str, str]:
    """Of a server whose every card can be shown; words alone, for a quick start."""
    flags = folder / "flags.json"
    flags.write_text(PREVIEW_ON, "utf-8")
    return {"MANGA_EMBEDDER": "none", "MANGA_LOG_TOOL_CALLS": "off", "MANGA_FLAGS_URL": flags.as_uri()}


async def _recorded(url: str) -> None:
    async with backend_of(url) as backend:
        for example in EXAMPLES:
            result = await _live(backend, example)
            example.path.parent.mkdir(exist_ok=True)
            example.path.write_text(json.dumps(result, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")


async def _live(backend: OfServer, example: Example) -> Json:
    """Whole: on a busy machine a part may be late, and the next time is there. Without what is another with each call."""
    for _ in range(TRIES):
        result = await backend.answer("tools/call", {"name": example.tool, "arguments": example.arguments})
        about = result["_meta"].pop(CALL)
        if not result.get("isError") and not about["degraded"]:
            meta = {key: result["_meta"][key] for key in KEPT_META if key in result["_meta"]}
            return {**result, "_meta": {**meta, CALL: {key: about[key] for key in ("source", "asOf", "degraded")}}}
    raise AssertionError(f"{example.card} is not whole: {about}")


def record() -> int:
    with tempfile.TemporaryDirectory() as name, served(Path(name), Path(name), **settings(Path(name))) as server:
        asyncio.run(_recorded(server.url))
    return 0


if __name__ == "__main__":
    sys.exit(record())
