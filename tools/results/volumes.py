"""Single volumes as a customer is told of them: a row a volume and format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tools.contract import Json
from tools.results.rows import DOWNLOAD
from tools.schema.parts import INTEGER, STRING, record
from tools.store.models import DIGITAL, PAPER, Availability, Release, VolumeStock

IN_STOCK, SOLD_OUT, PREORDER, LAST_KNOWN = "in_stock", "sold_out", "preorder", "last_known"

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
"""What is not known, or does not apply, is absent: a download has no copies and no ISBN. `availability` is in_stock,
sold_out, preorder, download or last_known."""


def row_of(sold: Availability, volume: VolumeStock) -> Json:
    """What the store says of one volume."""
    availability = _availability(sold, volume)
    return _given(
        volume=volume.volume,
        format=volume.format,
        availability=availability,
        stock=volume.stock if availability in (IN_STOCK, SOLD_OUT) else None,
        price_jpy=volume.price_jpy,
        isbn=volume.isbn,
        release_date=volume.release_date,
        restock_date=volume.restock_date if availability == SOLD_OUT else None,
    )


def _given(**facts: Any) -> Json:
    return {name: fact for name, fact in facts.items() if fact is not None}


def _availability(sold: Availability, volume: VolumeStock) -> str:
    if sold.awaited(volume):
        return PREORDER
    if volume.stock == 0:
        return SOLD_OUT
    return DOWNLOAD if volume.format == DIGITAL else IN_STOCK


def download_of(sold: Availability, volume: VolumeStock) -> Json | None:
    """The volume as a download, where the store sells the title so without counting volumes: what a digital offer costs is
    the price of one volume, and it does not run out. None where there is none, or the volume is not out yet."""
    offer = next((each for each in sold.offers if each.format == DIGITAL), None)
    counted = any(each.format == DIGITAL for each in sold.volumes)
    if offer is None or counted or sold.awaited(volume):
        return None
    return _given(volume=volume.volume, format=DIGITAL, availability=DOWNLOAD, price_jpy=offer.price_jpy)


def rows_of(sold: Availability, format_: str | None, chosen: Sequence[VolumeStock]) -> list[Json]:
    """The chosen volumes by number, each in every format it is sold in, or in the one that is asked for."""
    rows = [row for volume in chosen for row in _editions(sold, volume)]
    return [row for row in rows if format_ in (None, row["format"])]


def _editions(sold: Availability, volume: VolumeStock) -> Iterator[Json]:
    yield row_of(sold, volume)
    if volume.format == PAPER and (download := download_of(sold, volume)) is not None:
        yield download


def released(release: Release, title: str | None, sold: Availability | None) -> Json:
    """A row of a month: the day is the release's, the rest is stock's, as far as that is known."""
    volumes = sold.volumes if sold else ()
    found = next((each for each in volumes if (each.format, each.volume) == (release.format, release.volume)), None)
    named = _given(title_id=release.title_id, title=title, volume=release.volume, format=release.format)
    facts = row_of(sold, found) if sold and found else {}
    return named | facts | {"release_date": release.date}


def as_last_known(row: Json) -> Json:
    """How many there are may have changed; what a volume is has not."""
    if row.get("availability") not in (IN_STOCK, SOLD_OUT):
        return row
    return {name: fact for name, fact in row.items() if name != "stock"} | {"availability": LAST_KNOWN}
