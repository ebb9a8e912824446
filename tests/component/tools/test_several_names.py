"""Several titles named in one query are all found, in the order of their names."""

from __future__ import annotations

from pathlib import Path

from tests.support.calling import called, opened
from tests.support.cases import cases


@cases(
    ("query", "named"),
    [
        ("One Piece or Demon Slayer", ["One Piece", "Demon Slayer: Kimetsu no Yaiba"]),
        ("One Piece and Demon Slayer", ["One Piece", "Demon Slayer: Kimetsu no Yaiba"]),
        ("ワンピースか鬼滅の刃", ["One Piece", "Demon Slayer: Kimetsu no Yaiba"]),
        ("鬼滅の刃とワンピース", ["Demon Slayer: Kimetsu no Yaiba", "One Piece"]),
    ],
)
async def test_two_titles_in_one_query_are_found_in_order_without_vectors(
    query: str, named: list[str], tmp_path: Path
) -> None:
    async with opened(tmp_path) as app:
        answer = (await called(app, "search_manga_catalog", {"query": query, "max_results": 5}))["structuredContent"]
        assert [each["title"] for each in answer["results"][:2]] == named
        refused = {"query": query, "without": [named[0]], "max_results": 5}
        answer = (await called(app, "search_manga_catalog", refused))["structuredContent"]
        assert named[0] not in [each["title"] for each in answer["results"]]
