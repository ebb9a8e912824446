"""Single volumes in a result: those of one title, the next volume, and the releases of a month."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tools.contract import Json, ToolContext
from tools.results.rows import DOWNLOAD, format_ranges, read_names, read_or, recall_names
from tools.schema.parts import INTEGER, STRING, join_notes, record
from tools.store.audience import Adult
from tools.store.failures import DependencyFailure, NotFound
from tools.store.models import DIGITAL, PAPER, WHOLE, Availability, Release, VolumeStock

IN_STOCK, SOLD_OUT, PREORDER, LAST_KNOWN = "in_stock", "sold_out", "preorder", "last_known"
NEXT = "next"
MOST_ROWS, MOST_COMING = 20, 5
STOCK_SECONDS = 0.15
ROW = record(
    {
        "title_id": STRING,
        "title": STRING,
        "volume": INTEGER,
        "format": STRING,
        "availability": STRING,
        "stock": INTEGER,
        "price_jpy": INTEGER,
        "isbn": STRING,
        "release_date": STRING,
        "restock_date": STRING,
    },
    ["volume", "format"],
)
"""A volume in one format. Unknown facts are absent, as are the stock and ISBN of a download. `availability`: in_stock,
sold_out, preorder, download or last_known."""


@dataclass(frozen=True, slots=True)
class VolumeQuery:
    """Validated arguments of find_volumes. Without `title_id` the query asks for the releases of `month`, by default the
    current month. `today`: date in Japan, YYYY-MM-DD. `volume`: a number, `NEXT`, or None for all. `offset`: rows to
    skip."""

    today: str
    title_id: str | None = None
    volume: int | str | None = None
    format: str | None = None
    month: str | None = None
    offset: int | None = None

    @classmethod
    def read(cls, arguments: Json, today: str) -> VolumeQuery:
        about: Json = {} if "title_id" in arguments else {"month": today[:7]}
        volume = arguments.get("volume", NEXT)
        return cls(today, **(about | arguments | ({} if volume == NEXT else {"volume": int(volume)})))


def normalise_volume(text: str) -> int | str:
    """Converts "vol. 12" and 第12巻 to 12, and 次巻 to "next". Returns other text in lower case."""
    plain = text.strip()
    if found := re.fullmatch(r"(?:vol(?:ume)?s?\.?|第|#)?\s*([0-9]{1,4})\s*(?:巻|かん)?", plain, re.IGNORECASE):
        return int(found[1])
    return NEXT if plain in ("次", "次巻", "次の巻") else plain.lower()


def as_last_known(row: Json) -> Json:
    """Returns the row marked as last known, without its stock count, which may have changed. Rows of pre-orders and
    downloads are unchanged."""
    if row.get("availability") not in (IN_STOCK, SOLD_OUT):
        return row
    return {name: fact for name, fact in row.items() if name != "stock"} | {"availability": LAST_KNOWN}


def _row(sold: Availability, volume: VolumeStock) -> Json:
    availability = _availability(sold, volume)
    return _known_facts(
        volume=volume.volume,
        format=volume.format,
        availability=availability,
        stock=volume.stock if availability in (IN_STOCK, SOLD_OUT) else None,
        price_jpy=volume.price_jpy,
        isbn=volume.isbn,
        release_date=volume.release_date,
        restock_date=volume.restock_date if availability == SOLD_OUT else None,
    )


def _availability(sold: Availability, volume: VolumeStock) -> str:
    if sold.is_awaited(volume):
        return PREORDER
    if volume.stock == 0:
        return SOLD_OUT
    return DOWNLOAD if volume.format == DIGITAL else IN_STOCK


def _known_facts(**facts: Any) -> Json:
    return {name: fact for name, fact in facts.items() if fact is not None}


def _rows(sold: Availability, format_: str | None, chosen: Sequence[VolumeStock]) -> list[Json]:
    """Returns rows of the chosen volumes, in order: one for each format in which a volume is sold, or only for `format_`."""
    rows = [row for volume in chosen for row in _editions(sold, volume)]
    return [row for row in rows if format_ in (None, row["format"])]


def _editions(sold: Availability, volume: VolumeStock) -> Iterator[Json]:
    """Yields the volume's row. Also yields a download row for a released paper volume if the store sells the title digitally
    without counting digital volumes."""
    yield _row(sold, volume)
    digital = next((each for each in sold.offers if each.format == DIGITAL), None)
    counted = any(each.format == DIGITAL for each in sold.volumes)
    if volume.format == PAPER and digital is not None and not counted and not sold.is_awaited(volume):
        yield _known_facts(volume=volume.volume, format=DIGITAL, availability=DOWNLOAD, price_jpy=digital.price_jpy)


# -- one title

NOT_BY_VOLUME = (
    "The store does not count this title by volume: check_inventory has its stock and price, get_manga_details how many "
    "volumes there are. Do not promise a single volume."
)


@dataclass(frozen=True, slots=True)
class Ordered:
    """A customer's orders of a title. `highest`: highest volume number ordered, None for none. `whole_set`: whether the
    complete set was ordered."""

    highest: int | None = None
    whole_set: bool = False


NOTHING = Ordered()


async def find_title(context: ToolContext, asked: VolumeQuery) -> Json:
    """Returns volumes of one title. Raises `NotFound` if the title is not sold or has no such volume, and `BackendFailure`
    if its stock cannot be read in time."""
    assert asked.title_id is not None
    has = await _read_orders(context, asked.title_id) if asked.volume == NEXT else NOTHING
    reading = await context.store.stock.read([asked.title_id], context.deadline)
    if asked.title_id in reading.unanswered:
        raise DependencyFailure("Stock could not be read in time.", dependency="stock")
    if asked.title_id not in reading.rows:
        raise NotFound(
            f"The store sells no title {asked.title_id}. If that is a name, find its id with search_manga_catalog."
        )
    name = (await read_names(context, [asked.title_id])).get(asked.title_id)
    return _of_title(asked, reading.rows[asked.title_id], has, name)


def recall_title(context: ToolContext, asked: VolumeQuery) -> Json | None:
    """Returns a title's volumes as last known, ignoring orders; None if unknown. Raises `NotFound` for a missing volume."""
    assert asked.title_id is not None
    sold = context.store.stock.last_known([asked.title_id]).get(asked.title_id)
    if sold is None:
        return None
    result = _of_title(asked, sold, NOTHING, recall_names(context, [asked.title_id]).get(asked.title_id))
    result.pop("in_stock", None)
    unasked = "The customer's orders were not looked up." if asked.volume == NEXT and context.user else None
    note = join_notes(result.get("note"), unasked, f"Stock as of {sold.as_of}: do not promise it.")
    return result | {"volumes": [as_last_known(row) for row in result["volumes"]]} | note


async def _read_orders(context: ToolContext, title_id: str) -> Ordered:
    """Reads the caller's own orders of a title. Returns `NOTHING` for anonymous callers; also if the backend fails, with
    "orders" in `degraded`."""
    if context.user is None:
        return NOTHING
    half = context.deadline.within(context.deadline.remaining() / 2)  # the rest is for the volumes themselves
    lines = await read_or(context, context.store.orders.bought(context.user, title_id, half), "orders", ())
    numbers = [line.volume for line in lines if line.volume is not None]
    return Ordered(max(numbers, default=None), whole_set=any(line.format in WHOLE for line in lines))


def _of_title(asked: VolumeQuery, sold: Availability, has: Ordered, name: str | None) -> Json:
    about: Json = {"title_id": sold.title_id, **({"title": name} if name else {}), "today": asked.today}
    volumes = _in_format(sold, asked.format)
    if not volumes:
        return about | {"volumes": [], "total": 0, "note": _why_none(sold, asked.format)}
    if asked.month is not None:
        return about | _in_month(asked, sold, volumes)
    if asked.volume == NEXT:
        return about | _next(asked, sold, volumes, has)
    if asked.volume is not None:
        return about | _present_numbered(asked, sold, volumes)
    return about | _overview(asked, sold, volumes)


def _in_format(sold: Availability, format_: str | None) -> list[VolumeStock]:
    """Returns the volumes in this format (None: in any), by number. If the store does not count digital volumes, returns the
    released paper volumes in their place."""
    volumes = [volume for volume in sold.volumes if format_ in (None, volume.format)]
    if not volumes and format_ == DIGITAL and any(offer.format == DIGITAL for offer in sold.offers):
        volumes = [volume for volume in sold.volumes if volume.format == PAPER and not sold.is_awaited(volume)]
    return sorted(volumes, key=lambda volume: (volume.volume, volume.format != PAPER))


def _why_none(sold: Availability, format_: str | None) -> str:
    formats = {offer.format for offer in sold.offers}
    if format_ is not None and format_ not in formats:
        return f"This title is not sold as {format_}, but as {', '.join(sorted(formats))}."
    return NOT_BY_VOLUME


def _in_month(asked: VolumeQuery, sold: Availability, volumes: list[VolumeStock]) -> Json:
    assert asked.month is not None
    found = [volume for volume in volumes if (volume.release_date or "").startswith(asked.month)]
    result: Json = {"volumes": _rows(sold, asked.format, found[:MOST_ROWS]), "total": len(found)}
    return result if found else result | {"note": f"No volume of this title is known to come out in {asked.month}."}


def _next(asked: VolumeQuery, sold: Availability, volumes: list[VolumeStock], has: Ordered) -> Json:
    number, meaning = next_volume(replace(sold, volumes=tuple(volumes)), has, asked.format)
    found = [volume for volume in volumes if volume.volume == number]
    return {"volumes": _rows(sold, asked.format, found), "total": _count(volumes), "note": meaning}


def next_volume(sold: Availability, has: Ordered, format_: str | None) -> tuple[int | None, str]:
    """Returns the number of the volume that "next" means, and a sentence that explains it. For a customer with orders of
    single volumes this is the volume after the last ordered, or that last one if it is still to come out. For others it
    is the next volume to come out or, unless they ordered the complete set, the latest. None if nothing follows. `sold`
    must have at least one volume, and only volumes in the given format."""
    nothing = f"No further volume is announced{f' as {format_}' if format_ else ''}."
    if has.highest is not None and not has.whole_set:
        return _volume_after(sold, has.highest, nothing)
    coming = [volume for volume in sold.volumes if sold.is_awaited(volume)]
    whose = "The customer ordered the complete set. " if has.whole_set else ""
    if coming:
        first = min(coming, key=lambda volume: (volume.release_date, volume.volume))
        return first.volume, f"{whose}Next is what comes out next."
    if has.whole_set:
        return None, f"{whose}{nothing}"
    return max(volume.volume for volume in sold.volumes), f"{nothing} This is the latest."


def _volume_after(sold: Availability, highest: int, nothing: str) -> tuple[int | None, str]:
    last = f"Volume {highest} is the last that this customer ordered"
    number = min((volume.volume for volume in sold.volumes if volume.volume > highest), default=None)
    if number is not None:
        return number, f"{last}. Next is the one after that."
    if any(volume.volume == highest and sold.is_awaited(volume) for volume in sold.volumes):
        return highest, f"{last}, and it is still to come out: this is that one. {nothing}"
    return None, f"{last}. {nothing}"


def _present_numbered(asked: VolumeQuery, sold: Availability, volumes: list[VolumeStock]) -> Json:
    found = [volume for volume in volumes if volume.volume == asked.volume]
    if not found:
        numbers = format_ranges(volume.volume for volume in volumes)
        as_format = f" as {asked.format}" if asked.format else ""
        raise NotFound(
            f"The store lists no volume {asked.volume} of this title{as_format}, but {numbers}.",
            details={"volumes": numbers},
        )
    return {"volumes": _rows(sold, asked.format, found), "total": _count(volumes)}


def _overview(asked: VolumeQuery, sold: Availability, volumes: list[VolumeStock]) -> Json:
    """Lists all volumes of a short series. For a long series, lists the first pre-orders, the first sold-out volumes and
    the latest volume; `in_stock` has the numbers of the volumes in stock. With an offset, lists all volumes page by page."""
    formats = {volume.format for volume in volumes}
    shown = asked.format or (PAPER if PAPER in formats else volumes[0].format)
    rows = [row for row in _rows(sold, None, volumes) if row["format"] == shown]
    in_stock = format_ranges(row["volume"] for row in _with_availability(rows, IN_STOCK, DOWNLOAD))
    result: Json = {"total": len(rows), "volumes": rows, "in_stock": in_stock}
    if asked.offset is not None:
        after = asked.offset + MOST_ROWS
        result["volumes"] = rows[asked.offset : after]
        return result | ({"next_offset": after} if after < len(rows) else {})
    if len(rows) > MOST_ROWS:
        latest = [row for row in rows if row["availability"] != PREORDER][-1:]
        missing = [row for row in _with_availability(rows, SOLD_OUT) if row not in latest]
        telling = [*_with_availability(rows, PREORDER)[:MOST_COMING], *latest, *missing]
        result["volumes"] = sorted(telling[:MOST_ROWS], key=lambda row: row["volume"])
    return result


def _with_availability(rows: list[Json], *states: str) -> list[Json]:
    return [row for row in rows if row["availability"] in states]


def _count(volumes: list[VolumeStock]) -> int:
    return len({volume.volume for volume in volumes})


# -- a month


async def find_month(context: ToolContext, asked: VolumeQuery) -> Json:
    assert asked.month is not None
    page, total, ids = _page(context, asked, await context.store.releases.of_month(asked.month, context.deadline))
    reading = await context.store.stock.read_available(ids, context.deadline.within(STOCK_SECONDS))
    if reading.unanswered:
        context.degraded.add("stock")
    return _of_month(asked, page, total, await read_names(context, ids), reading.rows)


def recall_month(context: ToolContext, asked: VolumeQuery) -> Json | None:
    """Returns the month's releases as last known; None if nothing is known."""
    assert asked.month is not None
    known = context.store.releases.last_known(asked.month)
    if known is None:
        return None
    page, total, ids = _page(context, asked, known)
    result = _of_month(asked, page, total, recall_names(context, ids), context.store.stock.last_known(ids))
    return result | {"volumes": [as_last_known(row) for row in result["volumes"]]}


def _page(context: ToolContext, asked: VolumeQuery, releases: Sequence[Release]) -> tuple[Sequence[Release], int, list[str]]:
    """Returns (releases to show, number of all, title ids of those shown), of the releases in the requested format. Includes
    adult titles only if the shop shows them in every search."""
    adult = context.store.adult is Adult.ON
    listed = [each for each in releases if (adult or not each.adult) and asked.format in (None, each.format)]
    first = asked.offset or 0
    page = listed[first : first + MOST_ROWS]
    return page, len(listed), list(dict.fromkeys(release.title_id for release in page))


def _of_month(
    asked: VolumeQuery, page: Sequence[Release], total: int, names: Mapping[str, str], sold: Mapping[str, Availability]
) -> Json:
    rows = [_present_release(each, names.get(each.title_id), sold.get(each.title_id)) for each in page]
    result: Json = {"today": asked.today, "volumes": rows, "total": total}
    after = (asked.offset or 0) + len(page)
    if page and after < total:
        result["next_offset"] = after
    return result if page else result | {"note": _why_no_release(asked, total)}


def _present_release(release: Release, title: str | None, sold: Availability | None) -> Json:
    """Returns a release's row: its date from the release, other facts from the stock record; unknown facts are absent."""
    volumes = sold.volumes if sold else ()
    found = next((each for each in volumes if (each.format, each.volume) == (release.format, release.volume)), None)
    named = _known_facts(title_id=release.title_id, title=title, volume=release.volume, format=release.format)
    return named | (_row(sold, found) if sold and found else {}) | {"release_date": release.date}


def _why_no_release(asked: VolumeQuery, total: int) -> str:
    if total:
        return f"There are {total} in {asked.month}: ask with a smaller offset."
    note = f"No release{f' as {asked.format}' if asked.format else ''} is on record for {asked.month}."
    elsewhere = " Ask without format for the others." if asked.format else ""
    return f"{note}{elsewhere} More may be announced: do not say that nothing comes out."
