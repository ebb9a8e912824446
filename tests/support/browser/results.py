"""Results as the server gives them, made up so that a test knows every word of them, and as a hostile catalogue would have them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from io import BytesIO
from typing import Any

from PIL import Image

Json = dict[str, Any]
CALL = "com.mangaassist/call"

BERSERK: Json = {
    "title_id": "manga-002001",
    "title": "Berserk",
    "title_ja": "ベルセルク",
    "author": "Kentaro Miura",
    "genre": "seinen",
    "rating": 4.72,
    "tags": ["Action", "Horror", "Gore"],
    "volumes": 42,
    "status": "Publishing",
    "audience": "older_teen",
    "price_jpy": 693,
    "in_stock": True,
}
BARE: Json = {"title_id": "manga-000001", "title": "Bare"}

STOCK: Json = {
    "title_id": "manga-002001",
    "title": "Berserk",
    "availability": "partly_in_stock",
    "in_stock": True,
    "formats": [
        {"format": "physical", "price_jpy": 693, "stock": 40, "stock_is": "sum_of_volumes"},
        {
            "format": "digital",
            "price_jpy": 335,
            "list_price_jpy": 671,
            "campaign": {"until": "2026-12-15", "name": "Winter fair"},
            "stock_is": "download",
        },
    ],
    "volumes_in_stock": 11,
    "volumes_total": 12,
    "missing_volumes": [12],
    "restock": [{"volumes": "12", "date": "2026-12-14"}],
    "upcoming": [{"volumes": "13", "date": "2027-01-21"}],
    "as_of": "2026-11-23T16:53:39Z",
}

PARCEL: Json = {
    "carrier": "yamato",
    "tracking_number": "387398123232",
    "status": "in_transit",
    "events": [
        {"status": "accepted", "at": "2026-11-20T06:05:00Z", "place": "Saitama", "status_ja": "荷物受付"},
        {"status": "in_transit", "at": "2026-11-20T16:05:00Z", "place": "Tokyo", "status_ja": "作業店通過"},
    ],
}
ORDER: Json = {
    "kind": "order",
    "order_id": "MNG-DEMO1002",
    "status": "late",
    "late": True,
    "ordered_at": "2026-11-18T13:41:00Z",
    "lines": [
        {
            "title_id": "manga-002001",
            "title": "Berserk",
            "volume": 1,
            "format": "physical",
            "quantity": 2,
            "unit_price_jpy": 693,
        }
    ],
    "subtotal_jpy": 1386,
    "shipping_jpy": 680,
    "total_jpy": 2066,
    "prefecture": "Tokyo",
    "shipments": [PARCEL],
    "estimated_delivery": "2026-11-21",
}

SCRIPT = "<script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"
HOSTILE: dict[str, str] = {
    "a script": SCRIPT,
    "an address that runs": "javascript:document.title='taken'",
    "a name that every object has": "constructor",
    "text turned around": "\u202eknaht\u202d you\u2066 \u200fx",
    "marks upon marks": "Z" + "\u0335\u0321\u0322\u031b\u0317\u0318\u0319" * 40,
    "ten thousand letters": "W" * 10_000,
    "ten thousand letters of Japanese": "漫" * 10_000,
}


def answered(content: Json, *, images: Iterable[Json] = (), is_error: bool = False, **call: Any) -> Json:
    """A tool's result; `call` is what its `_meta` says of where it came from."""
    meta = {CALL: {"source": "live", "degraded": [], **call}}
    return {"content": [*images], "structuredContent": content, "isError": is_error, "_meta": meta}


def refused(name: str, *, retryable: bool = False) -> Json:
    error = {"code": -32000, "name": name, "message": "what a model reads", "data": {"retryable": retryable}}
    return answered({"error": error}, is_error=True)


def pages(number: int) -> list[Json]:
    """Image blocks, each of another grey."""
    return [
        {
            "type": "image",
            "mimeType": "image/png",
            "data": _png(40 + 40 * at),
            "_meta": {"com.mangaassist/alt": f"Panel {at + 1}"},
        }
        for at in range(number)
    ]


def _png(grey: int) -> str:
    drawn = BytesIO()
    Image.new("L", (60, 90), grey).save(drawn, "PNG")
    return b64encode(drawn.getvalue()).decode()
