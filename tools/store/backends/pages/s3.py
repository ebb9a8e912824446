from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DEGRADED, OK, Diagnosis, Problem
from session.resilience.tasks import gather_or_cancel
from tools.store.backends.aws_address import S3Address
from tools.store.backends.aws_client import UNCHECKED, AwsClient, answering, aws_problem, client_config, code_of
from tools.store.backends.pages.checked import (
    MOST_ALT_BYTES,
    NUMBERS,
    TOO_LARGE,
    Found,
    UnfitPage,
    alt_name,
    image_names,
    page_of,
    preview_of,
)
from tools.store.failures import BackendFailure, TimedOut
from tools.store.models import Health, Preview
from tools.store.models.order import MOST_PAGE_BYTES

DEPENDENCY = "pages"
MOST_NAMES = 10
"""Most objects listed for a page: those whose names begin with its number and a full stop."""


class S3Pages:
    """A `PagesPort` over an S3 bucket. Create it with `open`, which closes its connections."""

    def __init__(self, address: S3Address) -> None:
        self.address = address
        config = client_config(
            0.5,
            1.0,
            64,
            response_checksum_validation="when_required",
            s3={"addressing_style": "path" if address.endpoint else "auto"},
        )
        self._aws = AwsClient("s3", address.region, address.endpoint, config)

    @classmethod
    @asynccontextmanager
    async def open(cls, address: S3Address) -> AsyncIterator[S3Pages]:
        """Opens the client for the block. If the bucket is unreachable, opening succeeds and the calls fail."""
        pages = cls(address)
        async with pages._aws.opened():
            yield pages

    async def pages(self, title_id: str, volume: int, deadline: Deadline) -> Preview | None:
        folder = f"{self.address.prefix}{title_id}/{volume}/"
        async with answering(DEPENDENCY, deadline, *UNCHECKED):
            found = await gather_or_cancel([self._page(folder, number) for number in NUMBERS])
        return preview_of(title_id, volume, found)

    async def health(self, deadline: Deadline) -> Health:
        """Checks the bucket by a request that normal reads make too. Never raises."""
        try:
            async with answering(DEPENDENCY, deadline, *UNCHECKED):
                await self.sizes(self.address.prefix, 1)
        except BackendFailure as failure:
            return Health(ok=False, detail=failure.message)
        return Health(ok=True, detail="S3")

    async def sizes(self, start: str, most: int = MOST_NAMES) -> dict[str, int]:
        """Returns the sizes in bytes, by file name, of at most `most` objects whose keys begin with `start`. Raises the
        driver's errors, and LookupError, TypeError or ValueError for a malformed list."""
        client = await self._aws.ready()
        listed = await client.list_objects_v2(Bucket=self.address.bucket, Prefix=start, MaxKeys=most)
        if "Name" not in listed:  # the driver parses any XML as an empty list
            raise ValueError("no list of a bucket")
        return {str(each["Key"]).rpartition("/")[2]: int(each["Size"]) for each in listed.get("Contents", ())}

    async def _page(self, folder: str, number: int) -> Found:
        sizes = await self.sizes(f"{folder}{number}.")
        name = next((name for name in image_names(number) if name in sizes), None)
        if name is None:
            return None
        try:
            if sizes[name] > MOST_PAGE_BYTES:
                raise UnfitPage(TOO_LARGE)
            wanted = [self._content(folder + name, MOST_PAGE_BYTES)]
            if 0 < sizes.get(alt_name(number), 0) <= MOST_ALT_BYTES:
                wanted.append(self._content(folder + alt_name(number), MOST_ALT_BYTES))
            data, *alt = await gather_or_cancel(wanted)
            return page_of(number, data, *alt)
        except UnfitPage as unfit:
            return unfit

    async def _content(self, key: str, most_bytes: int) -> bytes:
        """Reads an object. Raises `UnfitPage` if it has more than `most_bytes`, whatever its listed size, or ends early."""
        client = await self._aws.ready()
        answer = await client.get_object(Bucket=self.address.bucket, Key=key)
        data = bytearray()
        async with answer["Body"] as body:
            async for chunk in body.iter_chunks():
                data += chunk
                if len(data) > most_bytes:
                    raise UnfitPage(TOO_LARGE)
        if len(data) != answer["ContentLength"]:
            raise UnfitPage("it broke off")
        return bytes(data)


SETTING = "MANGA_PAGES_URL"
PERMISSIONS = "s3:ListBucket and s3:GetObject"


async def diagnose(address: S3Address, stack: AsyncExitStack, deadline: Deadline) -> Diagnosis:
    try:
        async with answering(DEPENDENCY, deadline.earlier_by(0.8), *UNCHECKED):
            pages = await stack.enter_async_context(S3Pages.open(address))
            found = await pages.sizes(address.prefix)
    except BackendFailure as failure:
        return Diagnosis.from_problem(_problem(failure, address))
    if not found:
        remedy = f"put TITLE_ID/VOLUME/1.webp under it, or correct {SETTING}"
        return Diagnosis(DEGRADED, "there is nothing under this prefix", remedy)
    return Diagnosis(OK, f"bucket {address.bucket}")


def _problem(failure: BackendFailure, address: S3Address) -> Problem:
    if isinstance(failure, TimedOut):
        return Problem("it does not answer", f"check {SETTING}, routes, VPC endpoints and security groups")
    if code_of(failure) == "NoSuchBucket":
        return Problem(f"there is no bucket {address.bucket}", f"make it, or correct {SETTING}")
    return aws_problem(failure, SETTING, f"{PERMISSIONS} on {address.bucket}")
