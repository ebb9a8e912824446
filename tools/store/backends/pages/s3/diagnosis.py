"""What is wrong with the bucket of the pages, found out as serving would ask it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from aiohttp import ClientError as HttpError
from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, ReadTimeoutError
from botocore.parsers import ResponseParserError

from session.resilience.deadline import Deadline
from session.resilience.diagnosis import DEGRADED, OK, Diagnosis, Problem
from tools.store.backends.aws_problems import aws_problem, code_of
from tools.store.backends.pages.s3.address import S3Address
from tools.store.backends.pages.s3.pages import S3Pages

SETTING = "MANGA_PAGES_URL"
PERMISSIONS = "s3:ListBucket and s3:GetObject"


async def diagnose(address: S3Address, stack: AsyncExitStack, deadline: Deadline) -> Diagnosis:
    """Never raises."""
    try:
        async with asyncio.timeout(deadline.less(0.8).remaining()):
            pages = await stack.enter_async_context(S3Pages.open(address))
            found = await pages.sizes(address.prefix)
    except (TimeoutError, ConnectTimeoutError, ReadTimeoutError):
        return Diagnosis.of(Problem("it does not answer", f"check {SETTING}, routes, VPC endpoints and security groups"))
    except (BotoCoreError, ClientError, ResponseParserError, HttpError, OSError, EOFError) as error:
        return Diagnosis.of(_problem(error, address))
    except (AttributeError, LookupError, TypeError, ValueError):
        return Diagnosis.of(Problem("it answers with something that cannot be read", f"check what listens at {SETTING}"))
    if not found:
        remedy = f"put TITLE_ID/VOLUME/1.webp under it, or correct {SETTING}"
        return Diagnosis.of(Problem("there is nothing under this prefix", remedy), state=DEGRADED)
    return Diagnosis(OK, f"bucket {address.bucket}")


def _problem(error: Exception, address: S3Address) -> Problem:
    if code_of(error) == "NoSuchBucket":
        return Problem(f"there is no bucket {address.bucket}", f"make it, or correct {SETTING}")
    return aws_problem(error, SETTING, f"{PERMISSIONS} on {address.bucket}")
