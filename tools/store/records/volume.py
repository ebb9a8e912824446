"""A volume as JSON: the fields of `VolumeStock`, and the title it belongs to beside them."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from tools.store.models import VolumeStock
from tools.store.models.offer import price_problem
from tools.store.records.shape import ShapeError, decode


def read_volume(record: dict[str, Any]) -> VolumeStock:
    """A volume that somebody wrote. Raises ShapeError, also for a price that cannot be and an ISBN that is none."""
    volume = decode(VolumeStock, record)
    if problem := price_problem(volume.format, volume.price_jpy):
        raise ShapeError(f"$.price_jpy {problem}")
    if volume.isbn is not None and not is_isbn13(volume.isbn):
        raise ShapeError("$.isbn must be 13 digits with a right check digit")
    return volume


def check_volume(volume: VolumeStock) -> None:
    """Raises ShapeError for one that could not be read."""
    read_volume(asdict(volume))


def is_isbn13(text: str) -> bool:
    """Thirteen digits whose sum weighted 1, 3, 1, 3, … is a multiple of 10 (ISO 2108)."""
    if not re.fullmatch(r"97[89][0-9]{10}", text):
        return False
    return sum(int(digit) * (3 if i % 2 else 1) for i, digit in enumerate(text)) % 10 == 0
