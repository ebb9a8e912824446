"""States as the operator's page gets one a second, at three moments: a calm evening, a backend just killed, its breaker open."""

from __future__ import annotations

import math
from typing import Any

from tests.support.operators_page.calls import BUDGET_MS, STAGES

Json = dict[str, Any]
AT = 1_795_000_000.0
"""An evening of November 2026: the page takes the time from what it is told."""
TOOLS = {
    "search_manga_catalog": (800, "cached_popular_manga", 4210, 0.31, (38, 96, 141)),
    "check_inventory": (200, "cached_inventory_snapshot", 3702, 0.42, (9, 24, 41)),
    "get_manga_details": (300, "last_known_details", 1954, 0.22, (6, 31, 58)),
    "get_recommendations": (1000, "cached_trending_manga", 803, 0.74, (121, 188, 260)),
    "lookup_order": (300, None, 688, 1.0, (14, 38, 66)),
    "find_volumes": (300, "last_known_volumes", 402, 0.35, (11, 29, 44)),
    "compare_prices": (300, "cached_inventory_snapshot", 288, 0.12, (4, 18, 30)),
    "remember_preference": (800, None, 61, 1.0, (12, 20, 27)),
    "classify_genre": (1500, "local_classifier", 0, 0.0, None),
}
DOCTOR = "`python -m server doctor` asks it again and says why. infra/RUNBOOKS.md#mangabackendlost"
NOT_THERE = "An order or a title that there is not. Many of them: is the orders' table the right one?"
WRONG = "The model's arguments break the tool's schema. Nothing to mend here, unless one tool gets many: look at its description."
ALONE = "A backend is left alone after failures: the breakers say which, and why. infra/RUNBOOKS.md#mangabackendlost"
SLOW = "A backend was too slow: the waterfalls show which attempt waited. infra/RUNBOOKS.md#mangaslow"
BREAKERS = ("catalog", "titles", "stock", "releases", "orders", "profile", "pages", "classifier", "redis")


def hello(**server: Any) -> Json:
    return {
        "server": {
            "version": "0.1.0", "replica": "manga-7c4f", "worker": "1", "started_at": AT - 93_600, "auth": "none",
            "settings": {"catalog": "opensearch", "store": "dynamodb", "redis": "redis", "standby": "full"},
        } | server,
        "stages": list(STAGES),
        "tools": [{"name": name, "timeout_ms": each[0], "fallback": each[1]} for name, each in TOOLS.items()],
        "turn_budget_ms": BUDGET_MS,
    }  # fmt: skip


def calm(at: float = AT) -> Json:
    wave = 2 * math.sin(at / 7)
    return {
        "at": at,
        "calls": {"per_second": round(40.4 + wave, 1), "under_way": 3 + round(wave / 2), "shed": 0, "total": 3_781_204 + 40 * int(at - AT)},
        "tools": [_tool(name) for name in TOOLS],
        "budget_left": {"p50_ms": 2741 + round(9 * wave), "p5_ms": 2380, "p1_ms": 2104 + round(40 * wave), "exhausted": 0},
        "breakers": [_closed(name) for name in BREAKERS],
        "dependencies": _dependencies(),
        "sessions": {"active": 412, "streams": {"sse": 96, "mcp": 31, "ws": 4}},
        "replicas": [
            {"name": "manga-7c4f", "seen_s_ago": 0, "self": True}, {"name": "manga-b81d", "seen_s_ago": 2, "self": False},
            {"name": "manga-e02a", "seen_s_ago": 1, "self": False},
        ],
        "flags": [
            {"name": "get_recommendations", "kind": "boolean", "on_share": 1.0, "source": "file"},
            {"name": "preview_manga_pages", "kind": "percent", "on_share": 0.2, "source": "file"},
            {"name": "compare_prices", "kind": "segments", "on_share": 0.06, "source": "file"},
        ],
        "errors": [
            {"at": at - 48, "tool": "lookup_order", "name": "NOT_FOUND", "count": 9, "advice": NOT_THERE},
            {"at": at - 131, "tool": "search_manga_catalog", "name": "VALIDATION_ERROR", "count": 4, "advice": WRONG},
        ],
        "latency_history": [_point(at, back) for back in range(59, -1, -1)],
    }  # fmt: skip


def killed(at: float = AT) -> Json:
    """The orders' backend was killed seconds ago: customers see errors, for orders have no fallback."""
    state, since = calm(at), round(at - AT + 9.4, 1)
    if since <= 0:
        return state
    _tool_of(state, "lookup_order").update(
        errors={"TIMEOUT": 31, "CIRCUIT_OPEN": 118, "NOT_FOUND": 9}, p50_ms=14, p95_ms=301, p99_ms=302
    )
    _open(state, "orders", since, "DEPENDENCY_FAILURE, connection refused", 640, 3)
    _dependency_of(state, "orders").update(
        status="down", detail="does not answer", advice=f"Orders cannot be shown: there is no fallback. {DOCTOR}"
    )
    state["errors"] = [
        {"at": at - 0.4, "tool": "lookup_order", "name": "CIRCUIT_OPEN", "count": 118, "advice": ALONE},
        {"at": at - 9.1, "tool": "lookup_order", "name": "TIMEOUT", "count": 31, "advice": SLOW}, *state["errors"],
    ]  # fmt: skip
    for back, point in enumerate(reversed(state["latency_history"][-3:])):
        point.update(p99_ms=302 if back < 2 else 160, errors=20 if back < 2 else 1)
    return state


def opened(at: float = AT) -> Json:
    """The search engine hangs since 14 s: its breaker is open, and searches come from the standby."""
    state, since = calm(at), round(at - AT + 14.2, 1)
    if since <= 0:
        return state
    _tool_of(state, "search_manga_catalog")["sources"].update(live=1180, cache=2612, stale=22, fallback=396)
    _tool_of(state, "get_recommendations")["sources"].update(live=512, cache=209, stale=12, fallback=70)
    _open(state, "catalog", since, "no answer in time", 812, 5)
    _dependency_of(state, "catalog").update(
        status="down", detail="does not answer", advice=f"Searches fall back to popular titles. {DOCTOR}"
    )
    state["budget_left"].update(p50_ms=2610, p1_ms=1120)
    for back, point in enumerate(reversed(state["latency_history"][-3:])):
        point.update(p99_ms=(96, 404, 842)[back], p50_ms=24)
    return state


def _tool(name: str) -> Json:
    _, _, calls, live, times = TOOLS[name]
    p50, p95, p99 = times or (None, None, None)
    errors = {"lookup_order": {"NOT_FOUND": 9}, "search_manga_catalog": {"VALIDATION_ERROR": 4}}.get(name, {})
    answered = calls - sum(errors.values())
    return {
        "name": name, "calls": calls, "p50_ms": p50, "p95_ms": p95, "p99_ms": p99, "errors": errors,
        "sources": {"live": round(answered * live), "cache": answered - round(answered * live), "stale": 0, "fallback": 0},
    }  # fmt: skip


def _point(at: float, back: int) -> Json:
    when = at - 5 * back
    return {
        "at": when, "p50_ms": round(14 + 2 * math.sin(when / 5), 1), "p99_ms": round(150 + 24 * math.sin(when / 3) + 11 * math.sin(when * 1.7), 1),
        "per_second": round(40.4 + 2 * math.sin(when / 7) + math.sin(when * 2.1), 1), "errors": 1 if int(when) % 115 == 0 else 0,
    }  # fmt: skip


def _closed(name: str) -> Json:
    since = 93_590 if name != "profile" else 5412
    return {
        "name": name,
        "state": "closed",
        "since_s": since,
        "fault": None,
        "retry_after_ms": 0,
        "changes": 0 if name != "profile" else 2,
    }


def _open(state: Json, name: str, since: float, fault: str, retry: int, changes: int) -> None:
    found = next(each for each in state["breakers"] if each["name"] == name)
    found.update(state="open", since_s=since, fault=fault, retry_after_ms=retry, changes=changes)


def _dependencies() -> list[Json]:
    told = {
        "catalog": "OpenSearch 3.1, 18,804 titles", "titles": "DynamoDB, table manga-titles", "stock": "DynamoDB, table manga-stock",
        "orders": "DynamoDB, table manga-orders", "profile": "DynamoDB, table manga-profile", "redis": "Valkey 9.1, 2.1 ms",
        "embedder": "use-multilingual-v3, 512 dimensions", "standby": "full, as of 4 min ago",
    }  # fmt: skip
    return [{"name": name, "status": "ok", "detail": detail, "advice": None} for name, detail in told.items()]


def _tool_of(state: Json, name: str) -> Json:
    return next(each for each in state["tools"] if each["name"] == name)


def _dependency_of(state: Json, name: str) -> Json:
    return next(each for each in state["dependencies"] if each["name"] == name)
