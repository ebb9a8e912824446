"""What the tools answer over the demo shop, in the catalogue's two languages: the texts that tokens are counted of."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from server.application import Application
from server.call import Call, RequestMetadata
from server.config.settings import DEMO, Settings
from server.results import call_tool_result
from server.wiring import open_app
from tools.registry import TOOLS

Json = dict[str, Any]
ENGLISH, JAPANESE = "English", "Japanese"
QUERIES = {
    ENGLISH: [
        "pirates",
        "romance at school",
        "horror",
        "one piece",
        "cooking",
        "finished under ten volumes",
        "for a ten-year-old",
    ],
    JAPANESE: ["海賊", "学園 恋愛", "ホラー", "ワンピース", "料理", "完結 10巻以内", "10歳の子に"],
}
CUSTOMERS = ("demo-user-1", "demo-user-2", "demo-user-3")


@dataclass(frozen=True, slots=True)
class Given:
    """A result of a tool: its JSON, and the same as it is sent."""

    language: str
    tool: str
    value: Json
    text: str


async def results(language: str, folder: Path, seed: int = 1, tokens: int = 100_000) -> list[Given]:
    """Of every tool, with as many tokens as there are settings for, so that none is shortened; `folder` takes what is
    made."""
    flags = folder / "flags.json"
    flags.write_text(json.dumps({"compare_prices": True, "preview_manga_pages": True}))
    catalog = DEMO / "catalog.jsonl" if language == ENGLISH else japanese_catalogue(folder)
    settings = Settings(
        embedder="none",
        data_dir=folder,
        catalog_file=catalog,
        rate_limit=False,
        flags_url=flags.as_uri(),
        result_tokens=tokens,
    )
    async with open_app(settings, local=True) as app:
        return [
            Given(language, tool, each["structuredContent"], each["content"][0]["text"])
            for tool, arguments, user in _asked(language, Random(seed))
            if (each := await _called(app, tool, arguments, user))
        ]


def japanese_catalogue(folder: Path) -> Path:
    """The demo catalogue as a shop would have it that knows no English."""
    records = [json.loads(line) for line in (DEMO / "catalog.jsonl").read_text("utf-8").splitlines()]
    for record in records:
        names = record["title"]
        record["title"] = {"ja": names.get("ja") or names["en"], "kana": names.get("kana")}
        record["synopsis"] = {"en": None, "ja": record["synopsis"]["ja"]}
        record["authors"] = [author | {"name": author.get("name_ja") or author["name"]} for author in record["authors"]]
    path = folder / "japanese.jsonl"
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8")
    return path


def _asked(language: str, draw: Random) -> Iterator[tuple[str, Json, str]]:
    ids = [json.loads(line)["title_id"] for line in (DEMO / "catalog.jsonl").read_text("utf-8").splitlines()]
    for query in QUERIES[language]:
        for most in (3, 20):
            yield "search_manga_catalog", {"query": query, "max_results": most}, CUSTOMERS[0]
        yield "get_recommendations", {"criteria": query, "count": 10}, CUSTOMERS[0]
        yield "classify_genre", {"text": query}, CUSTOMERS[0]
    for title_id in draw.sample(ids, 12):
        yield "get_manga_details", {"title_id": title_id}, CUSTOMERS[0]
        yield "find_volumes", {"title_id": title_id}, CUSTOMERS[0]
    yield "preview_manga_pages", {"title_id": ids[0]}, CUSTOMERS[0]
    for tool in TOOLS:
        if (rule := tool.input_schema["properties"].get("title_ids")) is not None:
            for many in (1, 5, rule["maxItems"]):
                yield tool.name, {"title_ids": draw.sample(ids, many)}, CUSTOMERS[0]
    for month in ("2026-11", "2026-12"):
        yield "find_volumes", {"month": month}, CUSTOMERS[0]
    for customer in CUSTOMERS:
        yield "lookup_order", {}, customer
        yield "lookup_order", {"order_id": f"MNG-DEMO{customer[-1]}001"}, customer


async def _called(app: Application, tool: str, arguments: Json, user: str) -> Json | None:
    """None where there is no such tool, or no such order."""
    registered = app.registry.get(tool)
    if registered is None:
        return None
    call = Call(uuid.uuid4().hex, registered, dict(arguments), RequestMetadata(user=user), time.monotonic())
    result = call_tool_result(call, await app.pipeline.run(call))
    return None if result["isError"] else result
