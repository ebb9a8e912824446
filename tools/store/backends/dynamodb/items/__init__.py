"""What an item looks like: written by the seed and by tests, read by the adapters.

    titles   title_id, record (`tools.store.records.title`, as JSON text, without offers)
    stock    title_id, offers {format: {price_jpy, stock?, list_price_jpy?, campaign? {until, start?, name?}}},
             volumes {format: {number: {price_jpy, stock, isbn?, restock_date?, release_date?}}}
    releases title_id, edition (format#number), month and the fields of `tools.store.models.Release`
    orders   owner, order_id, title_ids [..] and the fields of `tools.store.models.Order`
    profile  owner, moment, kind, subject, at, expires_at (seconds since 1970); beside the events, under one moment
             of its own, revision, stated [{text, at}], expires_at

What the fields may hold follows from `tools.store.models`. Whoever writes may keep attributes of their own: reads ask for
theirs by name, and unknown ones deeper down are passed over.
"""

from tools.store.backends.dynamodb.items.event import EVENT_FIELDS, event_item, event_of
from tools.store.backends.dynamodb.items.keys import owner_key, projection
from tools.store.backends.dynamodb.items.order import (
    LINE_FIELDS,
    ORDER_FIELDS,
    PURCHASE_FIELDS,
    lines_bought,
    order_item,
    order_of,
    purchase_of,
)
from tools.store.backends.dynamodb.items.preferences import (
    PREFERENCES_FIELDS,
    preferences_item,
    preferences_key,
    preferences_of,
)
from tools.store.backends.dynamodb.items.release import RELEASE_FIELDS, release_item, release_of
from tools.store.backends.dynamodb.items.stock import STOCK_FIELDS, stock_item, stock_row
from tools.store.backends.dynamodb.items.title import TITLE_FIELDS, title_item, title_of

__all__ = [
    "EVENT_FIELDS",
    "LINE_FIELDS",
    "ORDER_FIELDS",
    "PREFERENCES_FIELDS",
    "PURCHASE_FIELDS",
    "RELEASE_FIELDS",
    "STOCK_FIELDS",
    "TITLE_FIELDS",
    "event_item",
    "event_of",
    "lines_bought",
    "order_item",
    "order_of",
    "owner_key",
    "preferences_item",
    "preferences_key",
    "preferences_of",
    "projection",
    "purchase_of",
    "release_item",
    "release_of",
    "stock_item",
    "stock_row",
    "title_item",
    "title_of",
]
