"""What an answer about titles leaves for the calls after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def one_title(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The title of which they all are, which later calls need not name. Where there are several, none of them is meant by
    itself any more; where there is none, nothing has changed."""
    titles = {str(row["title_id"]): str(row.get("title") or "") for row in rows if row.get("title_id")}
    if len(titles) > 1:
        return {"title_id": "", "title": ""}
    return {name: value for title in titles.items() for name, value in zip(("title_id", "title"), title, strict=True)}
