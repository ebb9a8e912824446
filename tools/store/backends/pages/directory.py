"""Preview pages in a directory, and the demo's pages. A page is `{title_id}/{volume}/{n}.webp` (or .png, .jpg, .jpeg), its
alternative text `{n}.txt`.

Ids are checked, each file is opened relative to its open folder, and no link below the directory is followed, so that
nothing outside the directory is read."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import re
import stat
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from session.resilience.deadline import Deadline
from session.resilience.tasks import Threads
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
from tools.store.failures import DependencyFailure, TimedOut
from tools.store.identifiers import SAFE_ID
from tools.store.models import Health, Preview
from tools.store.models.order import MOST_PAGE_BYTES

THREADS = 4
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags for opening a page's file. With O_NONBLOCK, opening a pipe does not block."""
NO_FOLDER = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""Errors on opening a folder that does not exist, or whose name is that of a file or link."""
DEMO_PREVIEWS = 4
T = TypeVar("T")
logger = logging.getLogger(__name__)


class DirectoryPages:
    """A `PagesPort` over a directory."""

    def __init__(self, root: Path) -> None:
        self._root, self._threads = root, Threads("pages", THREADS)

    async def pages(self, title_id: str, volume: int, deadline: Deadline) -> Preview | None:
        if re.fullmatch(SAFE_ID, title_id) is None:
            return None
        return await self._on_a_thread(lambda: _preview(self._root, title_id, volume), deadline)

    async def health(self, deadline: Deadline) -> Health:
        """Checks that the directory can be read. Never raises."""
        try:
            await self._on_a_thread(lambda: os.close(os.open(self._root, os.O_RDONLY | os.O_DIRECTORY)), deadline)
        except (DependencyFailure, TimedOut) as failure:
            return Health(ok=False, detail=failure.message)
        return Health(ok=True, detail="a directory")

    async def _on_a_thread(self, work: Callable[[], T], deadline: Deadline) -> T:
        try:
            return await self._threads.run(work, deadline.remaining())
        except TimeoutError:
            raise TimedOut("The pages did not come in time.", dependency="pages") from None
        except OSError:
            raise DependencyFailure("The directory of the pages cannot be read.", dependency="pages") from None


class DemoPages:
    """A `PagesPort` for the demo: each volume always gets the same one of four stored previews, which show no real manga.
    Create it with `open`; an instance without `previews`, for another shop's titles, has no pages."""

    def __init__(self, previews: Sequence[Preview | None] = ()) -> None:
        self._previews = previews

    @classmethod
    @asynccontextmanager
    async def open(cls) -> AsyncIterator[DemoPages]:
        beside = Path(__file__).parent
        yield cls([await asyncio.to_thread(_preview, beside, "demo", 1 + n) for n in range(DEMO_PREVIEWS)])

    async def pages(self, title_id: str, volume: int, deadline: Deadline) -> Preview | None:
        if deadline.expired():
            raise TimedOut("The pages did not come in time.", dependency="pages")
        if not self._previews:
            return None
        return self._previews[zlib.crc32(f"{title_id}/{volume}".encode(errors="replace")) % DEMO_PREVIEWS]

    async def health(self, deadline: Deadline) -> Health:
        return Health(ok=True, detail="pictures of the demo" if self._previews else "none")


def _preview(root: Path, title_id: str, volume: int) -> Preview | None:
    with _open_descriptor(root, os.O_RDONLY | os.O_DIRECTORY) as top:
        try:
            with _open_descriptor(title_id, FOLDER, top) as title, _open_descriptor(str(volume), FOLDER, title) as folder:
                return preview_of(title_id, volume, [_page(folder, number) for number in NUMBERS])
        except PermissionError:
            logger.warning("volume %d of %s has no preview: this user may not read its folder", volume, title_id)
            return None
        except OSError as error:
            if error.errno in NO_FOLDER:
                return None
            raise


def _page(folder: int, number: int) -> Found:
    try:
        for name in image_names(number):
            if (data := _content(folder, name, MOST_PAGE_BYTES)) is not None:
                alt = None
                with suppress(UnfitPage):
                    alt = _content(folder, alt_name(number), MOST_ALT_BYTES)
                return page_of(number, data, alt)
    except UnfitPage as unfit:
        return unfit
    return None


def _content(folder: int, name: str, most_bytes: int) -> bytes | None:
    """Returns a file's content; None if it is missing. Raises `UnfitPage` if it is no regular file, too large, or not
    readable by this user, and OSError for other faults."""
    try:
        with _open_descriptor(name, FILE, folder) as file:
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode):
                raise UnfitPage("it is no file")
            if about.st_size > most_bytes:
                raise UnfitPage(TOO_LARGE)
            with open(file, "rb", closefd=False) as reading:
                return reading.read(most_bytes + 1)
    except FileNotFoundError:
        return None
    except PermissionError:
        raise UnfitPage("this user may not read it") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnfitPage("it is a link, and links are not followed") from None
        if error.errno == errno.ENXIO:
            raise UnfitPage("it is no file") from None  # a socket
        raise


@contextmanager
def _open_descriptor(name: str | Path, flags: int, folder: int | None = None) -> Iterator[int]:
    file = os.open(name, flags, dir_fd=folder)
    try:
        yield file
    finally:
        os.close(file)
