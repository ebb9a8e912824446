"""Shipping fees in whole yen with tax, by prefecture, after the fee table of a real Japanese bookshop."""

from __future__ import annotations

REGIONS = {
    "hokkaido": "Hokkaido",
    "north_tohoku": "Aomori Iwate Akita",
    "south_tohoku": "Miyagi Yamagata Fukushima",
    "kanto": "Ibaraki Tochigi Gunma Saitama Chiba Tokyo Kanagawa Yamanashi",
    "shinetsu": "Niigata Nagano",
    "hokuriku": "Toyama Ishikawa Fukui",
    "chubu": "Shizuoka Aichi Mie Gifu",
    "kansai": "Shiga Kyoto Osaka Hyogo Nara Wakayama",
    "chugoku": "Tottori Shimane Okayama Hiroshima Yamaguchi",
    "shikoku": "Tokushima Kagawa Ehime Kochi",
    "kyushu": "Fukuoka Saga Nagasaki Kumamoto Oita Miyazaki Kagoshima",
    "okinawa": "Okinawa",
    "overseas": "Taiwan",
}
"""The twelve regions of Yamato's tariff, and one country to which the demo ships by EMS."""

_FEES = {
    **dict.fromkeys(("kanto", "shinetsu", "hokuriku", "chubu", "kansai"), 680),
    **dict.fromkeys(("north_tohoku", "south_tohoku", "chugoku", "shikoku", "kyushu"), 950),
    "hokkaido": 1700,
    "okinawa": 2000,
    "overseas": 2200,
}
_LETTERBOX_FEE = 385
_FREE_FROM = 8000


def region_of(prefecture: str) -> str:
    """Returns the region of a prefecture. Raises ValueError for an unknown prefecture."""
    for region, names in REGIONS.items():
        if prefecture in names.split():
            return region
    raise ValueError(f"no such prefecture: {prefecture}")


def shipping_fee(prefecture: str, goods_jpy: int, letterbox: bool = False) -> int:
    """Returns the fee for paper goods, 0 from 8,000 yen within Japan. `letterbox`: the parcel goes by Yu-Packet."""
    region = region_of(prefecture)
    if goods_jpy == 0 or (goods_jpy >= _FREE_FROM and region != "overseas"):
        return 0
    return _LETTERBOX_FEE if letterbox else _FEES[region]
