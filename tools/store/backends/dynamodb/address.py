"""Which DynamoDB, and whose tables in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from tools.store.backends.aws_address import endpoint_of, is_region, parameters

DEFAULT_PREFIX = "manga-"
_KNOWN = ("endpoint", "table_prefix")


@dataclass(frozen=True, slots=True)
class DynamoAddress:
    """A parsed `dynamodb://REGION[?endpoint=URL][&table_prefix=PREFIX]`. Credentials come from the AWS environment, never
    from here."""

    region: str
    endpoint: str | None = None
    prefix: str = DEFAULT_PREFIX

    @classmethod
    def parse(cls, url: str) -> DynamoAddress:
        """Raises ValueError, naming the part that is wrong."""
        parts = urlsplit(url)
        if parts.scheme != "dynamodb":
            raise ValueError(f"scheme {parts.scheme!r} is not dynamodb")
        if not is_region(parts.netloc):
            raise ValueError("the part after dynamodb:// has to be a region, as in dynamodb://ap-northeast-1")
        if parts.path.strip("/") or parts.fragment:
            raise ValueError("nothing but ?endpoint= and table_prefix= may follow the region")
        query = parameters(parts.query, _KNOWN)
        prefix = query.get("table_prefix", DEFAULT_PREFIX)
        if not re.fullmatch(r"[A-Za-z0-9_.-]{0,100}", prefix):
            raise ValueError("table_prefix may have up to 100 letters, digits and _ . -")
        return cls(parts.netloc, endpoint_of(query), prefix)

    @property
    def emulated(self) -> bool:
        """AWS is spoken to over TLS; whatever has a plain http endpoint is DynamoDB Local or its like."""
        return self.endpoint is not None and self.endpoint.startswith("http://")

    def __str__(self) -> str:
        return f"{self.region} ({self.endpoint})" if self.endpoint else self.region
