"""Definitions of the DynamoDB tables, for deployment, seeding, diagnosis, adapters and tests.

| table    | an item is           | key                                     | read by |
| -------- | -------------------- | --------------------------------------- | ------- |
| titles   | a title's record     | title_id                                | BatchGetItem of up to 100 titles |
|          | ids of the most popular titles | `#popular`                    | GetItem |
| stock    | a title's copies     | title_id                                | BatchGetItem of up to 100 titles |
| releases | a volume with a release date | title_id, edition (format and number) | Query of a month's index |
| orders   | an order             | owner (hashed), order_id                | GetItem with both; Query: latest, purchases |
| profile  | an event of a customer | owner (hashed), moment (time and event) | Query, newest first |
|          | a customer's stated preferences | owner (hashed), `#preferences` | GetItem with both |

The owner is the partition key of all personal items, so that no read can return another person's order by its id alone.
Billing is on demand, since traffic varies over the day."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tools.store.backends.aws_address import endpoint_of, is_region, parameters

DEFAULT_PREFIX = "manga-"


@dataclass(frozen=True, slots=True)
class DynamoAddress:
    """A parsed `dynamodb://REGION[?endpoint=URL][&table_prefix=PREFIX]`. Without `endpoint`, the AWS environment's is used,
    or else AWS's own. Credentials come from that environment, not from the URL."""

    region: str
    endpoint: str | None = None
    prefix: str = DEFAULT_PREFIX

    @classmethod
    def parse(cls, url: str) -> DynamoAddress:
        """Parses the URL. Raises ValueError if any part of it is invalid."""
        parts = urlsplit(url)
        if parts.scheme != "dynamodb":
            raise ValueError(f"scheme {parts.scheme!r} is not dynamodb")
        if not is_region(parts.netloc):
            raise ValueError("the part after dynamodb:// has to be a region, as in dynamodb://ap-northeast-1")
        if parts.path.strip("/") or parts.fragment:
            raise ValueError("nothing but ?endpoint= and table_prefix= may follow the region")
        query = parameters(parts.query, ("endpoint", "table_prefix"))
        prefix = query.get("table_prefix", DEFAULT_PREFIX)
        if not re.fullmatch(r"[A-Za-z0-9_.-]{0,100}", prefix):
            raise ValueError("table_prefix may have up to 100 letters, digits and _ . -")
        return cls(parts.netloc, endpoint_of(query), prefix)

    @property
    def is_emulated(self) -> bool:
        """True for an http:// endpoint, such as DynamoDB Local's: this server reaches AWS over TLS only."""
        return self.endpoint is not None and self.endpoint.startswith("http://")

    def __str__(self) -> str:
        return f"{self.region} ({self.endpoint})" if self.endpoint else self.region


BILLING_MODE = "PAY_PER_REQUEST"


@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index. `include` are its attributes besides the keys. If `partition_key` is None, it is a local index: it
    shares the table's partition key and supports consistent reads."""

    name: str
    sort_key: str
    include: tuple[str, ...]
    partition_key: str | None = None

    def creation(self, table_key: str) -> dict[str, Any]:
        """Returns the index's entry in the parameters of CreateTable. `table_key` is the table's partition key."""
        return {
            "IndexName": self.name,
            "KeySchema": _schema(self.partition_key or table_key, self.sort_key),
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(self.include)},
        }


@dataclass(frozen=True, slots=True)
class Table:
    """A table, whose keys are strings. `ttl` is the attribute with an item's expiry time in seconds since 1970 (None: items
    do not expire), `recovery` turns on point-in-time recovery, and `personal` tables are encrypted with a separate key."""

    name: str
    partition_key: str
    sort_key: str | None = None
    indexes: tuple[Index, ...] = ()
    ttl: str | None = None
    recovery: bool = True
    personal: bool = False

    def full_name(self, prefix: str) -> str:
        return f"{prefix}{self.name}"

    def key_of(self, item: dict[str, Any]) -> tuple[str, ...]:
        """Returns the values of the item's key attributes. Raises KeyError if one is missing or not a string."""
        names = (self.partition_key, *((self.sort_key,) if self.sort_key else ()))
        return tuple(item[name]["S"] for name in names)

    def creation(self, prefix: str) -> dict[str, Any]:
        indexed = (key for index in self.indexes for key in (index.partition_key, index.sort_key))
        keys = dict.fromkeys(key for key in (self.partition_key, self.sort_key, *indexed) if key)
        local = [index.creation(self.partition_key) for index in self.indexes if index.partition_key is None]
        other = [index.creation(self.partition_key) for index in self.indexes if index.partition_key is not None]
        return {
            "TableName": self.full_name(prefix),
            "BillingMode": BILLING_MODE,
            "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"} for key in keys],
            "KeySchema": _schema(self.partition_key, self.sort_key),
            **({"LocalSecondaryIndexes": local} if local else {}),
            **({"GlobalSecondaryIndexes": other} if other else {}),
        }


def _schema(partition_key: str, sort_key: str | None) -> list[dict[str, str]]:
    schema = [{"AttributeName": partition_key, "KeyType": "HASH"}]
    return schema + ([{"AttributeName": sort_key, "KeyType": "RANGE"}] if sort_key else [])


# A copy of the catalogue's records, which answers for titles while the catalogue is down. The seed rewrites it.
TITLES = Table("titles", "title_id", recovery=False)

# Rewritten by the seed, and by the warehouse all day, so that there is nothing to recover.
STOCK = Table("stock", "title_id", recovery=False)

# Rewritten by the seed. The key is the volume's, so that a postponed release replaces the item.
BY_MONTH = Index("by_month", "date", ("volume", "format", "popularity_rank", "adult"), "month")
RELEASES = Table("releases", "title_id", "edition", (BY_MONTH,), recovery=False)
BY_TIME = Index("by_time", "ordered_at", ("status", "title_ids"))
ORDERS = Table("orders", "owner", "order_id", (BY_TIME,), personal=True)
PROFILE = Table("profile", "owner", "moment", ttl="expires_at", personal=True)
TABLES = (TITLES, STOCK, RELEASES, ORDERS, PROFILE)
