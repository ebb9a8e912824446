"""What can be bought of a title now: a row of an inventory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from tools.contract import Json
from tools.results.rows import DIGITAL, OFFER, in_stock, offered, price, ranges
from tools.schema.parts import INTEGER, STRING, listed, nullable, record
from tools.store.models import Availability, VolumeStock

_DATED = record(
    {"volumes": STRING, "date": STRING},
    ["volumes", "date"],
)
ITEM = record(
    {
        "title_id": STRING,
        "title": nullable("string"),
        "availability": {
            "type": "string",
            "enum": ["in_stock", "partly_in_stock", "digital_only", "out_of_stock", "last_known"],
            "description": "last_known: of as_of, promise nothing.",
        },
        "in_stock": nullable("boolean", "On paper, where printed."),
        "price_jpy": nullable("integer"),
        "formats": listed(OFFER),
        "volumes_in_stock": nullable("integer"),
        "volumes_total": nullable("integer"),
        "missing_volumes": {"type": "array", "items": INTEGER},
        "restock": listed(_DATED),
        "upcoming": listed(_DATED),
        "as_of": STRING,
    },
    ["title_id", "availability"],
)


def item(row: Availability, names: Mapping[str, str]) -> Json:
    printed = [volume for volume in row.volumes if volume.format != DIGITAL]
    paper = [volume for volume in printed if not row.awaited(volume)]
    missing = [volume.volume for volume in paper if volume.stock == 0]
    available = in_stock(row)
    return {
        "title_id": row.title_id,
        "title": names.get(row.title_id),
        "availability": _availability(row, available=available, some_missing=bool(missing)),
        "in_stock": available,
        "price_jpy": price(row.offers),
        "formats": offered(row),
        "volumes_in_stock": len(paper) - len(missing) if paper else None,
        "volumes_total": len(paper) or None,
        "missing_volumes": missing,
        "restock": _dated((volume, volume.restock_date) for volume in paper if not volume.stock),
        "upcoming": _dated((volume, volume.release_date) for volume in printed if row.awaited(volume)),
        "as_of": row.as_of,
    }


def _availability(row: Availability, *, available: bool, some_missing: bool) -> str:
    """As a shopper would say it. A title without a paper edition is `available` as a download."""
    if available and any(offer.format != DIGITAL and offer.stock != 0 for offer in row.offers):
        return "partly_in_stock" if some_missing else "in_stock"
    digital = any(offer.format == DIGITAL and offer.stock != 0 for offer in row.offers)
    return "digital_only" if digital else "out_of_stock"


def _dated(volumes: Iterable[tuple[VolumeStock, str | None]]) -> list[Json]:
    """Volumes of one date together, the soonest first."""
    on: dict[str, list[int]] = defaultdict(list)
    for volume, date in volumes:
        if date is not None:
            on[date].append(volume.volume)
    return [{"volumes": ranges(on[date]), "date": date} for date in sorted(on)]
