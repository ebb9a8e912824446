"""`python -m tests.support.watched_server ORDERS SPANS serve`: the server, with orders of the test's own in the embedded
store, and every span (the SDK's too) as a line in a file.

A line on stdin names where from now on it forgets whose data it handles (FORGETS), or "nothing": a test that looks for
mixed-up users has to find each of these. It says so on stderr.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from server.backends import opening as stores
from server.call import Principal
from server.commands import cli
from server.stages import cache
from server.stages import cache as result_writes
from server.stages import remember as profile_queue
from server.stages import session as begin_request
from server.stages import session as history_entry
from server.stages import telemetry as call_event
from server.telemetry import log_calls as repeats
from server.telemetry import metrics
from server.tracing import opening, sending
from server.tracing import sending as spans
from server.transport import changes as own_updates
from session import keys, memory
from session.history import LastShown
from tools.store.backends.embedded import customers as profile
from tools.store.backends.embedded import stock_and_orders

FORGETS = (
    "cached results",
    "flights",
    "idempotency records",
    "sessions",
    "last searches",
    "orders",
    "latest orders",
    "purchases",
    "profiles",
    "preferences",
    "log",
    "history",
    "histories",
    "whole results",
    "updates",
    "spans",
    "metrics",
)
SAYS = "from now on it forgets: {}"
forgotten = ["nothing"]
Function = Callable[..., Any]


def _break(holder: Any, name: str, what: str, wrong: Function) -> None:
    """`wrong` takes the place of a function while `what` is forgotten; it gets the right one first."""
    own = getattr(holder, name)
    right = own.fget if isinstance(own, property) else own

    def either(*given: Any) -> Any:
        return wrong(right, *given) if forgotten[0] == what else right(*given)

    setattr(holder, name, property(either) if isinstance(own, property) else either)


def _of_nobody(own: Function, call: Any) -> Any:
    return own(replace(call, principal=Principal(), preferences_hash=""))


def _of_no_user(name: str) -> Function:
    def of(own: Function, session: str, user: str | None) -> Any:
        return own(session, user)._replace(**{name: getattr(own(session, None), name)})

    return of


def _latest_of_all(own: Function, recent: Any, request: Any, begun: Any) -> Any:
    shown = [groups["shown"].fields for groups in recent.writes.values() if "shown" in groups]
    last = {name.encode(): value.encode() for name, value in shown[-1].items()} if shown else {}
    return replace(begun, last=LastShown.read(last)) if request.session is not None and shown else begun


def _with_its_user(own: Function, told: Any, event: Any) -> None:
    own(told, event)
    told._degraded.labels(event.user).inc()


def _of_all_owners(sql: str) -> Function:
    """One statement of the embedded store's, without the owner."""

    def read(own: Function, store: Any, dependency: str, asked: str, *given: str) -> Any:
        return own(store, dependency, asked.replace("owner = ?", "? <> ''") if asked == sql else asked, *given)

    return read


def _breakable() -> None:
    for module in (begin_request, result_writes):
        _break(module, "cache_key", "cached results", _of_nobody)
    _break(cache, "flight_key", "flights", _of_nobody)
    _break(keys, "idempotency", "idempotency records", lambda own, user, session, key: own("everybody", None, key))
    _break(keys.SessionKeys, "of", "sessions", lambda own, session, user: own(session, None))
    _break(memory.RecentState, "fill", "last searches", _latest_of_all)
    store = stock_and_orders.EmbeddedStore
    _break(store, "_read", "orders", _of_all_owners(stock_and_orders._ORDER))
    _break(store, "_read", "latest orders", _of_all_owners(stock_and_orders._LATEST))
    _break(store, "_read", "purchases", _of_all_owners(stock_and_orders._PURCHASED))
    _break(profile, "user_hash", "profiles", lambda own, user: "everybody")
    _break(keys, "preferences", "preferences", lambda own, user: own("everybody"))
    _break(call_event, "select_remembered", "log", lambda own, call, outcome: dict(call.arguments))
    _break(keys.SessionKeys, "of", "histories", _of_no_user("history"))
    _break(keys.SessionKeys, "of", "whole results", _of_no_user("results"))
    _break(own_updates, "owner", "updates", lambda own, session, user: "everybody")
    _break(history_entry, "select_remembered", "history", lambda own, call, outcome: dict(call.arguments))
    _break(spans, "call_attributes", "spans", lambda own, event: {**own(event), "manga.what": str(event.audited)})
    _break(metrics.Metrics, "__call__", "metrics", _with_its_user)


def _listen() -> None:
    for line in sys.stdin:
        forgotten[0] = line.strip()
        print(SAYS.format(forgotten[0]), file=sys.stderr, flush=True)


def main() -> int:
    # What somebody viewed shows in the next recommendation, each time.
    profile_queue.COLLECT_SECONDS = profile_queue.KNOWN_SECONDS = 0.0
    repeats.EACH = repeats.TOGETHER = sys.maxsize  # every line of the log is looked at
    orders, spans_file, *command = sys.argv[1:]
    stores.store_files = lambda settings: (None, Path(orders))  # what is sold is the catalogue's alone
    _breakable()
    threading.Thread(target=_listen, daemon=True).start()
    with Path(spans_file).open("a", encoding="utf-8", buffering=1) as out:
        _trace_everything(SimpleSpanProcessor(ConsoleSpanExporter(out=out, formatter=_said)))
        return cli.main(command)


def _said(span: ReadableSpan) -> str:
    """Everything but ids and times, as quickly as can be: a call has twenty spans, and they are written while it waits."""
    events = [(each.name, each.attributes) for each in span.events]
    return f"{span.name} {span.attributes} {span.status.description} {events} {span.links}\n"


def _trace_everything(processor: SimpleSpanProcessor) -> None:
    """What the room of traces would send, and what anybody else would tell a provider of their own."""
    os.environ |= {opening.ENDPOINT: "http://localhost", opening.SAMPLER: "always_on"}
    sending.BatchSpanProcessor = lambda *_, **__: processor  # type: ignore[assignment, misc]
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    trace.set_tracer_provider(provider)


if __name__ == "__main__":
    raise SystemExit(main())
