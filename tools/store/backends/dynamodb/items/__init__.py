"""What an item looks like: written by the seed and by tests, read by the adapters.

    titles   title_id, record (`tools.store.records.title`, as JSON text, without offers)
    stock    title_id, offers {format: {price_jpy, stock?}},
             volumes {format: {number: {price_jpy, stock, isbn?, restock_date?, release_date?}}}
    orders   owner, order_id, title_ids [..] and the fields of `tools.store.models.Order`
    profile  owner, moment, kind, subject, at, expires_at (seconds since 1970)

What the fields may hold follows from `tools.store.models`. Whoever writes may keep attributes of their own: reads ask for
theirs by name, and unknown ones deeper down are passed over.
"""

from tools.store.backends.dynamodb.items.event import EVENT_FIELDS, event_item, event_of
from tools.store.backends.dynamodb.items.keys import owner_key, projection
from tools.store.backends.dynamodb.items.order import ORDER_FIELDS, PURCHASE_FIELDS, order_item, order_of, purchase_of
from tools.store.backends.dynamodb.items.stock import STOCK_FIELDS, stock_item, stock_row
from tools.store.backends.dynamodb.items.title import TITLE_FIELDS, title_item, title_of

__all__ = [
    "EVENT_FIELDS",
    "ORDER_FIELDS",
    "PURCHASE_FIELDS",
    "STOCK_FIELDS",
    "TITLE_FIELDS",
    "event_item",
    "event_of",
    "order_item",
    "order_of",
    "owner_key",
    "projection",
    "purchase_of",
    "stock_item",
    "stock_row",
    "title_item",
    "title_of",
]
