"""Texts of the agent that no model writes: prepared sentences in English and Japanese, and descriptions of results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

Json = dict[str, Any]
JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
MOST_ROWS = 5
ROWS = ("results", "items", "recommendations", "orders", "ratings", "volumes")
SIGNS = {"jpy": "¥", "usd": "$", "eur": "€", "gbp": "£"}
SAID = {
    "moment": ("One moment, I am looking.", "少々お待ちください。お調べしています。"),
    "known": ("What I know so far: ", "今わかっているのは次のとおりです。"),
    "have": ("Here is what I found: ", "見つかったのは次のとおりです。"),
    "nothing": ("I found nothing of that kind.", "該当するものは見つかりませんでした。"),
    "cut": ("That is as far as I got.", "ここまでしかお伝えできません。"),
    "late": (
        "That took me too long, and I do not want to keep you waiting. Please ask me once more.",
        "お時間がかかりすぎてしまいました。もう一度お尋ねください。",
    ),
    "store_away": (
        "I cannot look at our shelves at the moment. Please ask me again in a minute.",
        "ただいま棚を確認できません。少ししてからもう一度お尋ねください。",
    ),
    "model_away": (
        "I am sorry, I cannot think clearly at the moment. Please ask me again in a minute.",
        "申し訳ありません、ただいまお答えできません。少ししてからもう一度お尋ねください。",
    ),
    "sold_out": ("sold out", "品切れ"),
    "in_stock": ("in stock", "在庫あり"),
    "missing": ("all but volume ", "欠けている巻："),
}


def sentence(name: str, question: str) -> str:
    """Returns the sentence in the question's language: Japanese if the question has kana or kanji, else English."""
    return SAID[name][bool(JAPANESE.search(question))]


def tell_known(results: Iterable[Json], question: str, lead: str = "known") -> str:
    """Describes titles with price and stock, and orders with status, after the sentence `lead` of `SAID`; returns "" if
    there are none. Lists at most `MOST_ROWS`, those of the last result first, with facts merged from earlier results."""
    facts: dict[str, Json] = {}
    order: list[str] = []
    for result in results:
        named = []
        for row in _rows(result):
            key = str(row.get("order_id") or row.get("title_id"))
            facts.setdefault(key, {}).update({name: value for name, value in row.items() if value is not None})
            named.append(key)
        order = [*named, *(each for each in order if each not in named)]
    if not order:
        return ""
    stop = "。" if JAPANESE.search(question) else "."
    return f"{sentence(lead, question)}{'; '.join(_told(facts[each], question) for each in order[:MOST_ROWS])}{stop}"


def _rows(result: Json) -> Iterator[Json]:
    rows = next((result[key] for key in ROWS if isinstance(result.get(key), list)), [result])
    for row in rows:
        about = {"title_id": result.get("title_id"), "title": result.get("title"), **row}
        if about.get("order_id") or about.get("title_id"):
            yield about


def amount(field: str, value: float) -> str:
    """Formats a price or total in the currency that ends its field's name: "¥770", "$7.50", "7.5 CHF"."""
    sign = SIGNS.get(code := field[-3:])
    return f"{value} {code.upper()}" if sign is None else f"{sign}{value}" if code == "jpy" else f"{sign}{value:.2f}"


def _told(row: Json, question: str) -> str:
    if "order_id" in row:
        parcels = [f"{each['carrier']}: {each['status']}" for each in row.get("shipments", ())]
        return " ".join((row["order_id"], *(each.replace("_", " ") for each in (f"({row.get('status')})", *parcels))))
    price = next((amount(key, value) for key, value in row.items() if key.startswith("price_") and value), "")
    stock = sentence("in_stock" if row["in_stock"] else "sold_out", question) if "in_stock" in row else ""
    if missing := row.get("missing_volumes"):
        stock = sentence("missing", question) + ", ".join(map(str, missing))
    volume = f" {row['volume']}" if "volume" in row else ""
    terms = ", ".join(filter(None, (price, stock, str(row.get("release_date") or ""))))
    return f"{row.get('title')}{volume}{f' ({terms})' if terms else ''}"
