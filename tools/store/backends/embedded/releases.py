"""What comes out when, in this process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from session.resilience.deadline import Deadline
from tools.store.failures import TimedOut
from tools.store.models import Health, Release
from tools.store.ports import MOST_RELEASES


class EmbeddedReleases:
    """`tools.store.ports.ReleasesPort` over lists of months, put in order once."""

    def __init__(self, releases: Iterable[Release]) -> None:
        months: dict[str, list[Release]] = defaultdict(list)
        for release in sorted(releases, key=lambda each: each.place):
            months[release.month].append(release)
        self._months = {month: tuple(listed[:MOST_RELEASES]) for month, listed in months.items()}

    async def of_month(self, month: str, deadline: Deadline) -> tuple[Release, ...]:
        if deadline.expired():
            raise TimedOut("The releases did not answer in time.", dependency="releases")
        return self._months.get(month, ())

    async def health(self, deadline: Deadline) -> Health:
        """Always well."""
        return Health(ok=True, detail="in this process")
