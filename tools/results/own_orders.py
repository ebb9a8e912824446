"""Orders as their own customer asks for them, and nobody else."""

from __future__ import annotations

from collections.abc import Sequence

from tools.contract import ToolContext
from tools.store.failures import Forbidden
from tools.store.models import Order

MOST_LISTED = 10


async def own_order(context: ToolContext, order_id: str) -> Order | None:
    """The caller's order of this number; None for one that is not there, is not theirs, or that no order can have. Raises
    `Forbidden` for who is not signed in."""
    customer = _customer(context)
    if not context.store.identifiers.orders.matches(order_id):
        return None
    return await context.store.orders.order(customer, order_id, context.deadline)


async def latest_orders(context: ToolContext) -> Sequence[Order]:
    """The caller's latest ten. Raises `Forbidden` for who is not signed in."""
    return await context.store.orders.latest(_customer(context), MOST_LISTED, context.deadline)


def _customer(context: ToolContext) -> str:
    if context.user is None:
        raise Forbidden("Orders are shown to signed-in customers only. Ask the customer to sign in.")
    return context.user
