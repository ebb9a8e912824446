"""Which bucket, and where in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from tools.store.backends.aws_address import endpoint_of, is_region, parameters

_KNOWN = ("region", "endpoint")
LONGEST_PREFIX = 500


@dataclass(frozen=True, slots=True)
class S3Address:
    """A parsed `s3://BUCKET[/PREFIX]?region=REGION[&endpoint=URL]`; `prefix` is empty or ends with a slash. Credentials come
    from the AWS environment, never from here."""

    bucket: str
    prefix: str
    region: str
    endpoint: str | None = None

    @classmethod
    def parse(cls, url: str) -> S3Address:
        """Raises ValueError, naming the part that is wrong."""
        parts = urlsplit(url)
        if parts.scheme != "s3":
            raise ValueError(f"scheme {parts.scheme!r} is not s3")
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", parts.netloc):
            raise ValueError(
                "the part after s3:// has to be a bucket, as in s3://manga-pages/previews?region=ap-northeast-1"
            )
        prefix = unquote(parts.path).strip("/")
        if len(prefix) > LONGEST_PREFIX or not prefix.isprintable() or parts.fragment:
            raise ValueError(f"after the bucket may stand a prefix of up to {LONGEST_PREFIX} characters, and no fragment")
        return cls(parts.netloc, f"{prefix}/" if prefix else "", *_where(parts.query))

    def __str__(self) -> str:
        where = f"{self.region}, {self.endpoint}" if self.endpoint else self.region
        return f"s3://{self.bucket}/{self.prefix} ({where})"


def _where(text: str) -> tuple[str, str | None]:
    query = parameters(text, _KNOWN)
    region = query.get("region", "")
    if not is_region(region):
        raise ValueError("needs the region of the bucket, as in ?region=ap-northeast-1")
    return region, endpoint_of(query)
