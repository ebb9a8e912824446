"""What comes out in a month, page by page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tools.contract import Json, ToolContext
from tools.results.rows import DOWNLOAD, known_names, names_of, ranges
from tools.results.volumes import IN_STOCK, PREORDER, SOLD_OUT, as_last_known, released, rows_of
from tools.store.catalog.adult import Adult
from tools.store.failures import BackendFailure, DependencyFailure, NotFound
from tools.store.models import DIGITAL, PAPER, WHOLE, Availability, Release, VolumeStock
from tools.volumes.asked import NEXT, Asked


@dataclass(frozen=True, slots=True)
class Ordered:
    """What a customer has of a title: the highest volume, None for none, and whether they have the set of all."""

    highest: int | None = None
    whole_set: bool = False


NOTHING = Ordered()


@dataclass(frozen=True, slots=True)
class NextVolume:
    """`meaning` says what "next" was taken for. `number` is None where nothing follows what the customer has."""

    number: int | None
    meaning: str


async def ordered(context: ToolContext, title_id: str) -> Ordered:
    """By the orders of the proven user and nobody else. Nothing for anonymous callers, and, labelled, where orders do not
    answer."""
    if context.user is None:
        return NOTHING
    half = context.deadline.within(context.deadline.remaining() / 2)  # the rest is for the volumes themselves
    try:
        lines = await context.store.orders.bought(context.user, title_id, half)
    except BackendFailure:
        context.degraded.add("orders")
        return NOTHING
    numbers = [line.volume for line in lines if line.volume is not None]
    return Ordered(max(numbers, default=None), whole_set=any(line.format in WHOLE for line in lines))


def next_volume(sold: Availability, has: Ordered, format_: str | None) -> NextVolume:
    """`sold` has at least one volume, and none but in the format that is asked for."""
    nothing = f"No further volume is announced{f' as {format_}' if format_ else ''}."
    if has.highest is not None and not has.whole_set:
        return _after(sold, has.highest, nothing)
    coming = [volume for volume in sold.volumes if sold.awaited(volume)]
    whose = "The customer ordered the complete set. " if has.whole_set else ""
    if coming:
        first = min(coming, key=lambda volume: (volume.release_date, volume.volume))
        return NextVolume(first.volume, f"{whose}Next is what comes out next.")
    if has.whole_set:
        return NextVolume(None, f"{whose}{nothing}")
    return NextVolume(max(volume.volume for volume in sold.volumes), f"{nothing} This is the latest.")


def _after(sold: Availability, highest: int, nothing: str) -> NextVolume:
    last = f"Volume {highest} is the last that this customer ordered"
    number = min((volume.volume for volume in sold.volumes if volume.volume > highest), default=None)
    if number is not None:
        return NextVolume(number, f"{last}. Next is the one after that.")
    if any(volume.volume == highest and sold.awaited(volume) for volume in sold.volumes):
        return NextVolume(highest, f"{last}, and it is still to come out: this is that one. {nothing}")
    return NextVolume(None, f"{last}. {nothing}")


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


PAGE = 20
STOCK_SECONDS = 0.15


async def month(context: ToolContext, asked: Asked) -> Json:
    assert asked.month is not None
    listed = _fit(context, asked, await context.store.releases.of_month(asked.month, context.deadline))
    ids = _titles_of(_page(asked, listed))
    reading = await context.store.stock.read_available(ids, context.deadline.within(STOCK_SECONDS))
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
