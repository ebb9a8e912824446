"""Which tools are switched on, and for what share of the users.

The file is a JSON object: `{"get_recommendations": false, "check_inventory": {"percent": 20}}`. A tool that it does not
name is on. A share is of the users, by hash, so that one user always sees the same; without a user a tool that is on for
a share only is off.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from session.resilience.outage import Outage

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0


class FlagsError(ValueError):
    """The flags cannot be used; the message says what is wrong and names no content."""


@dataclass(slots=True)
class Flags:
    """Percent of users by tool, 0 to 100."""

    percents: dict[str, float] = field(default_factory=dict)

    def is_on(self, tool: str, user: str | None) -> bool:
        percent = self.percents.get(tool, 100.0)
        if percent >= 100:
            return True
        return user is not None and _share_of(tool, user) < percent

    def depends_on_user(self) -> bool:
        return any(0 < percent < 100 for percent in self.percents.values())


def _share_of(tool: str, user: str) -> float:
    """Places a user from 0 to 100, evenly over users, in another order for each tool."""
    hashed = hashlib.sha256(f"{tool}\0{user}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(hashed[:4], "big") / 2**32 * 100


def parse_flags(text: str, tools: Collection[str]) -> dict[str, float]:
    """Reads percents by tool. Raises `FlagsError`."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise FlagsError("the flags are not JSON") from None
    if not isinstance(document, Mapping):
        raise FlagsError('the flags have to be an object such as {"get_recommendations": false}')
    return {name: _percent(name, value, tools) for name, value in document.items()}


def _percent(name: str, value: Any, tools: Collection[str]) -> float:
    if name not in tools:
        raise FlagsError(f"the flags name {name[:60]!r}, which is no tool; tools are {', '.join(tools)}")
    if isinstance(value, bool):
        return 100.0 if value else 0.0
    share = value.get("percent") if isinstance(value, Mapping) and set(value) == {"percent"} else None
    if isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= 100:
        return float(share)
    raise FlagsError(f'the flag of {name} has to be true, false or {{"percent": 0 to 100}}')


class FlagsFile:
    """Keeps `flags` as the file says. A file that becomes unreadable or wrong changes nothing and is logged."""

    def __init__(self, path: Path, tools: Collection[str], flags: Flags) -> None:
        self._path = path
        self._tools = tools
        self._flags = flags
        self._seen: bytes | None = None
        self._outage = Outage(logger, "the file of MANGA_FLAGS_URL")

    def load(self) -> bool:
        """Reads the file, and tells whether the flags changed. Raises `FlagsError`, OSError."""
        content = self._path.read_bytes()
        if content == self._seen:
            return False
        self._seen = content  # before it is judged: what is wrong with it is told once, not every second
        try:
            text = content.decode()
        except UnicodeError:
            raise FlagsError("the flags are not UTF-8 text") from None
        percents = parse_flags(text, self._tools)
        changed = percents != self._flags.percents
        self._flags.percents = percents
        return changed

    async def watch(self, changed: Callable[[], Awaitable[None]]) -> None:
        """Runs until cancelled, and tells of every change."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                if await asyncio.to_thread(self.load):
                    logger.info("the flags have changed")
                    await changed()
                self._outage.over()
            except FlagsError as error:
                logger.warning("flags left as they were: %s", error)
            except OSError as error:
                self._outage.failed(f"{error.strerror}; they stay as they were")
