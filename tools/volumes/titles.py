"""Volumes of one title: the one that is asked for, the next, those of a month, or an overview."""

from __future__ import annotations

from dataclasses import replace

from tools.contract import Json, ToolContext
from tools.results.names import known_names, names_of
from tools.results.rows import DOWNLOAD, ranges
from tools.results.volumes import IN_STOCK, PREORDER, SOLD_OUT, as_last_known, rows_of
from tools.store.failures import DependencyFailure, NotFound
from tools.store.models import DIGITAL, PAPER, Availability, VolumeStock
from tools.volumes.asked import NEXT, Asked
from tools.volumes.next_volume import NOTHING, Ordered, next_volume, ordered

MOST_ROWS, MOST_COMING = 20, 5
NOT_BY_VOLUME = (
    "The store does not count this title by volume: check_inventory has its stock and price, get_manga_details how many "
    "volumes there are. Do not promise a single volume."
)

ORDERS_UNASKED = "What the customer has ordered was not looked up."


async def title(context: ToolContext, asked: Asked) -> Json:
    """Raises `NotFound` for a title that is not sold, and for a volume that it does not have."""
    assert asked.title_id is not None
    has = await ordered(context, asked.title_id) if asked.volume == NEXT else NOTHING
    sold = await _sold(context, asked.title_id)
    name = (await names_of(context, [asked.title_id])).get(asked.title_id)
    return told(asked, sold, has, name)


def kept_title(context: ToolContext, asked: Asked) -> Json | None:
    """As last known, when stock does not answer; what the customer ordered is not looked up."""
    assert asked.title_id is not None
    sold = context.store.stock.last_known([asked.title_id]).get(asked.title_id)
    if sold is None:
        return None
    result = told(asked, sold, NOTHING, known_names(context, [asked.title_id]).get(asked.title_id))
    rest = {key: value for key, value in result.items() if key != "in_stock"}
    unasked = ORDERS_UNASKED if asked.volume == NEXT and context.user else None
    note = " ".join(filter(None, (result.get("note"), unasked, f"Stock as of {sold.as_of}: do not promise it.")))
    return rest | {"volumes": [as_last_known(row) for row in result["volumes"]], "note": note}


async def _sold(context: ToolContext, title_id: str) -> Availability:
    reading = await context.store.stock.read([title_id], context.deadline)
    if title_id in reading.rows:
        return reading.rows[title_id]
    if title_id in reading.unanswered:
        raise DependencyFailure("Stock could not be read in time.", dependency="stock")
    raise NotFound(f"The store sells no title {title_id}. If that is a name, find its id with search_manga_catalog.")


def told(asked: Asked, sold: Availability, has: Ordered, name: str | None) -> Json:
    about: Json = {"title_id": sold.title_id, **({"title": name} if name else {}), "today": asked.today}
    volumes = _in_format(sold, asked.format)
    if not volumes:
        return about | {"volumes": [], "total": 0, "note": _why_none(sold, asked.format)}
    if asked.month is not None:
        return about | _of_month(asked, sold, volumes)
    if asked.volume == NEXT:
        return about | _next(asked, sold, volumes, has)
    if asked.volume is not None:
        return about | _numbered(asked, sold, volumes)
    return about | _overview(asked, sold, volumes)


def _in_format(sold: Availability, format_: str | None) -> list[VolumeStock]:
    """By number. What is sold digitally without being counted is told beside its paper volumes."""
    volumes = [volume for volume in sold.volumes if format_ in (None, volume.format)]
    if not volumes and format_ == DIGITAL and any(offer.format == DIGITAL for offer in sold.offers):
        volumes = [volume for volume in sold.volumes if volume.format == PAPER and not sold.awaited(volume)]
    return sorted(volumes, key=lambda volume: (volume.volume, volume.format != PAPER))


def _why_none(sold: Availability, format_: str | None) -> str:
    formats = {offer.format for offer in sold.offers}
    if format_ is not None and format_ not in formats:
        return f"This title is not sold as {format_}, but as {', '.join(sorted(formats))}."
    return NOT_BY_VOLUME


def _numbered(asked: Asked, sold: Availability, volumes: list[VolumeStock]) -> Json:
    found = [volume for volume in volumes if volume.volume == asked.volume]
    if not found:
        numbers = ranges(volume.volume for volume in volumes)
        as_format = f" as {asked.format}" if asked.format else ""
        raise NotFound(
            f"The store lists no volume {asked.volume} of this title{as_format}, but {numbers}.",
            details={"volumes": numbers},
        )
    return {"volumes": rows_of(sold, asked.format, found), "total": _count(volumes)}


def _next(asked: Asked, sold: Availability, volumes: list[VolumeStock], has: Ordered) -> Json:
    after = next_volume(replace(sold, volumes=tuple(volumes)), has, asked.format)
    found = [volume for volume in volumes if volume.volume == after.number]
    return {"volumes": rows_of(sold, asked.format, found), "total": _count(volumes), "note": after.meaning}


def _of_month(asked: Asked, sold: Availability, volumes: list[VolumeStock]) -> Json:
    assert asked.month is not None
    found = [volume for volume in volumes if (volume.release_date or "").startswith(asked.month)]
    result: Json = {"volumes": rows_of(sold, asked.format, found[:MOST_ROWS]), "total": len(found)}
    return result if found else result | {"note": f"No volume of this title is known to come out in {asked.month}."}


def _overview(asked: Asked, sold: Availability, volumes: list[VolumeStock]) -> Json:
    """All of a short series; of a long one what is to come, the latest and what is sold out, and the rest as numbers. All
    of that too, page by page, where there is an offset."""
    formats = {volume.format for volume in volumes}
    shown = asked.format or (PAPER if PAPER in formats else volumes[0].format)
    rows = [row for row in rows_of(sold, None, volumes) if row["format"] == shown]
    result: Json = {"total": len(rows), "volumes": rows, "in_stock": _numbers(_that_are(rows, IN_STOCK, DOWNLOAD))}
    if asked.offset is not None:
        after = asked.offset + MOST_ROWS
        result["volumes"] = rows[asked.offset : after]
        return result | ({"next_offset": after} if after < len(rows) else {})
    if len(rows) > MOST_ROWS:
        latest = [row for row in rows if row["availability"] != PREORDER][-1:]
        missing = [row for row in _that_are(rows, SOLD_OUT) if row not in latest]
        telling = [*_that_are(rows, PREORDER)[:MOST_COMING], *latest, *missing]
        result["volumes"] = sorted(telling[:MOST_ROWS], key=_number)
    return result


def _that_are(rows: list[Json], *states: str) -> list[Json]:
    return [row for row in rows if row["availability"] in states]


def _numbers(rows: list[Json]) -> str:
    return ranges(map(_number, rows))


def _number(row: Json) -> int:
    return int(row["volume"])


def _count(volumes: list[VolumeStock]) -> int:
    return len({volume.volume for volume in volumes})
