"""What `doctor` says of the flags: where they are, what they switch, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AsyncExitStack

from server.flags.document import Document, DocumentError, Flag, parse
from server.flags.sources.opening import open_source
from server.flags.sources.source import Unreadable
from session.resilience.diagnosis import OK, Diagnosis, Problem, network_problem

SETTING = "MANGA_FLAGS_URL"
KEEPS = "a running server keeps to what it read last"


async def diagnose(url: str, stack: AsyncExitStack, tools: Collection[str]) -> Diagnosis:
    source = await open_source(url, stack)
    try:
        return Diagnosis(OK, _told(parse(await source.read() or b""), tools))
    except DocumentError as error:
        return Diagnosis.of(Problem(str(error), f"correct it; {KEEPS}"))
    except Unreadable as error:
        return Diagnosis.of(_problem(url, error))


def _told(document: Document, tools: Collection[str]) -> str:
    """A flag of another version's tool is no more than worth knowing."""
    changed = [f"{name} {_of(flag)}" for name, flag in document.flags.items() if _of(flag) != "on"]
    unknown = document.unknown(tools)
    missing = [f"no tool of this version: {', '.join(unknown)}"] if unknown else []
    return "; ".join([", ".join(changed) or "every tool that is named is on for everyone", *missing])


def _of(flag: Flag) -> str:
    if not flag:
        return "off"
    if flag[0].conditions or len(flag) > 1 or flag[0].name != "on":
        return f"in {len(flag)} segments"
    return "on" if flag[0].rollout >= 100 else f"{flag[0].rollout:g} %"


def _problem(url: str, error: Unreadable) -> Problem:
    if url.startswith("file:"):
        return Problem(str(error), f"check {SETTING}, and the file's owner and mode")
    if url.startswith("dynamodb:") and error.__cause__ is not None:
        from tools.store.backends.aws_problems import aws_problem, code_of

        if code_of(error) != "ResourceNotFoundException":
            return aws_problem(error, SETTING, "dynamodb:GetItem on the table of the flags")
    return network_problem(error, SETTING) or Problem(str(error), f"check {SETTING}; {KEEPS}")
