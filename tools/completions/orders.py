"""Numbers of orders, proposed to their owner alone."""

from __future__ import annotations

from collections.abc import Mapping

from tools.contract import ToolContext
from tools.results.own_orders import latest_orders
from tools.store.failures import BackendFailure


async def complete_order_id(context: ToolContext, typed: str, others: Mapping[str, str]) -> list[str]:
    """Those of the caller's latest orders that have what is typed in them; none for who is not signed in."""
    if context.user is None:
        return []
    try:
        latest = await latest_orders(context)
    except BackendFailure:
        return []
    return [order.order_id for order in latest if typed.strip().casefold() in order.order_id.casefold()]
