"""Volumes that have a day, as the releases of their titles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tools.store.audience import audience_of
from tools.store.models import Audience, Release, Title, VolumeStock


def releases_of(titles: Iterable[Title], volumes: Iterable[tuple[str, VolumeStock]]) -> Iterator[Release]:
    """Of volumes of these titles, beside their title's id; those without a day, or of another title, are passed over."""
    known = {title.title_id: title for title in titles}
    for title_id, volume in volumes:
        title = known.get(title_id)
        if title is not None and volume.release_date is not None:
            adult = audience_of(title) is Audience.ADULT
            rank = title.popularity_rank
            yield Release(title_id, volume.volume, volume.format, volume.release_date, rank, adult)
