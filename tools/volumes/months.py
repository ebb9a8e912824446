"""What comes out in a month, page by page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tools.contract import Json, ToolContext
from tools.results.names import known_names, names_of
from tools.results.volumes import as_last_known, released
from tools.store.catalog.adult import Adult
from tools.store.models import Availability, Release
from tools.volumes.asked import Asked

PAGE = 20
STOCK_SECONDS = 0.15


async def month(context: ToolContext, asked: Asked) -> Json:
    assert asked.month is not None
    listed = _fit(context, asked, await context.store.releases.of_month(asked.month, context.deadline))
    ids = _titles_of(_page(asked, listed))
    reading = await context.store.stock.read_what_is_there(ids, context.deadline.within(STOCK_SECONDS))
    if reading.unanswered:
        context.degraded.add("stock")
    return _told(asked, listed, await names_of(context, ids), reading.rows)


def kept_month(context: ToolContext, asked: Asked) -> Json | None:
    """As last known, when the releases do not answer."""
    assert asked.month is not None
    known = context.store.releases.last_known(asked.month)
    if known is None:
        return None
    listed = _fit(context, asked, known)
    ids = _titles_of(_page(asked, listed))
    result = _told(asked, listed, known_names(context, ids), context.store.stock.last_known(ids))
    return result | {"volumes": [as_last_known(row) for row in result["volumes"]]}


def _fit(context: ToolContext, asked: Asked, releases: Sequence[Release]) -> list[Release]:
    """A month's list is nobody's request for titles for adults: they are in it where they are like any other."""
    adult = context.store.adult is Adult.ON
    return [each for each in releases if (adult or not each.adult) and asked.format in (None, each.format)]


def _page(asked: Asked, listed: Sequence[Release]) -> Sequence[Release]:
    return listed[_offset(asked) : _offset(asked) + PAGE]


def _offset(asked: Asked) -> int:
    return asked.offset or 0


def _titles_of(page: Sequence[Release]) -> list[str]:
    return list(dict.fromkeys(release.title_id for release in page))


def _told(asked: Asked, listed: Sequence[Release], called: Mapping[str, str], sold: Mapping[str, Availability]) -> Json:
    page = _page(asked, listed)
    rows = [released(each, called.get(each.title_id), sold.get(each.title_id)) for each in page]
    result: Json = {"today": asked.today, "volumes": rows, "total": len(listed)}
    after = _offset(asked) + len(page)
    if page and after < len(listed):
        result["next_offset"] = after
    return result if page else result | {"note": _nothing(asked, len(listed))}


def _nothing(asked: Asked, total: int) -> str:
    if total:
        return f"There are {total} in {asked.month}: ask with a smaller offset."
    note = f"No release{f' as {asked.format}' if asked.format else ''} is on record for {asked.month}."
    elsewhere = " Ask without format for the others." if asked.format else ""
    return f"{note}{elsewhere} More may be announced: do not say that nothing comes out."
