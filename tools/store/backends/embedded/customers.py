"""Customer profiles and stated preferences in SQLite: in memory, or in a file that the server's processes share."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from session.keys import user_hash
from session.preferences import StoredPreferences, decode, encode
from session.profile import KEPT_DAYS, RECALLED, Event, EventKind, Profile, format_moment, latest
from session.resilience.clocks import Now, utc_now
from session.resilience.deadline import Deadline
from tools.store.failures import DependencyFailure, TimedOut
from tools.store.models import Health

T = TypeVar("T")
MOST_EVENTS, MOST_STATED = 100_000, 1_000
"""Most rows of each table; the oldest are removed."""
TABLES = """
CREATE TABLE IF NOT EXISTS events (
    owner TEXT NOT NULL, at TEXT NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL,
    PRIMARY KEY (owner, at, kind, subject)
);
CREATE TABLE IF NOT EXISTS stated (owner TEXT PRIMARY KEY, revision TEXT, document BLOB NOT NULL);
"""


class EmbeddedCustomers:
    """A `ProfilePort` and a `PreferencesPort` over one SQLite database. A file is used on a thread, since a write may wait
    0.25 s for another process; a database in memory on the event loop, where a query takes microseconds."""

    def __init__(self, path: Path | None = None, clock: Now = utc_now) -> None:
        """Opens the file, or a database in memory if `path` is None. Blocks for some milliseconds."""
        self._clock = clock
        self._db = sqlite3.connect(path or ":memory:", timeout=0.25, check_same_thread=False, isolation_level=None)
        self._worker: ThreadPoolExecutor | None = None
        self._db.executescript(TABLES)
        if path is not None:
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = OFF")  # the file has to survive its processes, not the machine
            self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="customers")

    def close(self) -> None:
        if self._worker is not None:
            self._worker.shutdown(wait=True, cancel_futures=True)
        self._db.close()

    async def remember(self, entries: Sequence[tuple[str, Event]], deadline: Deadline) -> None:
        rows = [(user_hash(user), event.at, event.kind.value, event.subject) for user, event in entries]

        def work(db: sqlite3.Connection) -> None:
            db.executemany("INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?)", rows)
            db.execute("DELETE FROM events WHERE rowid <= (SELECT max(rowid) FROM events) - ?", (MOST_EVENTS,))

        await self._run(work, deadline)

    async def recall(self, user: str, deadline: Deadline) -> Profile:
        asked = (user_hash(user), format_moment(self._clock() - timedelta(days=KEPT_DAYS)), RECALLED)
        sql = "SELECT kind, subject, at FROM events WHERE owner = ? AND at >= ? ORDER BY at DESC LIMIT ?"
        rows = await self._run(lambda db: db.execute(sql, asked).fetchall(), deadline)
        return Profile(latest(Event(EventKind(kind), subject, at) for kind, subject, at in rows))

    async def forget(self, user: str, deadline: Deadline) -> None:
        owner = user_hash(user)
        await self._run(lambda db: db.execute("DELETE FROM events WHERE owner = ?", (owner,)), deadline)

    async def stated(self, user: str, deadline: Deadline) -> StoredPreferences:
        sql, owner = "SELECT document, revision FROM stated WHERE owner = ?", user_hash(user)
        row = await self._run(lambda db: db.execute(sql, (owner,)).fetchone(), deadline)
        return StoredPreferences(decode(row[0]) or (), row[1]) if row else StoredPreferences()

    async def keep(self, user: str, kept: StoredPreferences, in_place_of: str | None, deadline: Deadline) -> bool:
        """Stores `kept`, or deletes the row if `kept` is empty, and returns True. If the stored revision is not
        `in_place_of` (None: nothing is stored), changes nothing and returns False (optimistic locking)."""
        owner, row = user_hash(user), (kept.revision, encode(kept.preferences))

        def work(db: sqlite3.Connection) -> bool:
            if in_place_of is None:
                done = db.execute("INSERT OR IGNORE INTO stated VALUES (?, ?, ?)", (owner, *row)).rowcount == 1
            else:
                sql = "UPDATE stated SET revision = ?, document = ? WHERE owner = ? AND revision = ?"
                done = db.execute(sql, (*row, owner, in_place_of)).rowcount == 1
            if done and not kept.preferences:
                db.execute("DELETE FROM stated WHERE owner = ? AND revision IS ?", (owner, kept.revision))
            db.execute("DELETE FROM stated WHERE rowid <= (SELECT max(rowid) FROM stated) - ?", (MOST_STATED,))
            return done

        return await self._run(work, deadline)

    async def health(self, deadline: Deadline) -> Health:
        await self._run(lambda db: db.execute("SELECT 1"), deadline)
        return Health(ok=True, detail="in this process" if self._worker is None else "in these processes")

    async def _run(self, work: Callable[[sqlite3.Connection], T], deadline: Deadline) -> T:
        """Runs `work` on the connection. Raises TimedOut at the deadline, DependencyFailure for SQLite's errors."""
        try:
            if deadline.expired():
                raise TimeoutError
            if self._worker is None:
                return work(self._db)
            async with asyncio.timeout(deadline.remaining()):
                return await asyncio.get_running_loop().run_in_executor(self._worker, work, self._db)
        except TimeoutError as error:
            raise TimedOut("The profile did not answer in time.", dependency="profile") from error
        except sqlite3.Error as error:
            raise DependencyFailure("The profile cannot be read now.", dependency="profile") from error
