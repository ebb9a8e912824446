"""The lines, as the specification of the embedded metric format has them (CloudWatch, specification 2021)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from server.telemetry.emf.numbers import Kind, Number

MOST_VALUES = 100
"""What one metric may have in one line."""
Value = float | list[float]
Row = tuple[Number, Value]


def document(namespace: str, milliseconds: int, rows: Sequence[Row], dimensions: Mapping[str, str]) -> str:
    """Returns one line, without its end. `milliseconds` are since the epoch; all `rows` share the `dimensions`."""
    metrics = [_definition(number) for number, _ in rows]
    directive = {"Namespace": namespace, "Dimensions": [list(dimensions)], "Metrics": metrics}
    meta = {"Timestamp": milliseconds, "CloudWatchMetrics": [directive]}
    values = {number.name: value for number, value in rows}
    return json.dumps({"_aws": meta, **dimensions, **values}, separators=(",", ":"))


def _definition(number: Number) -> dict[str, object]:
    # Auto scaling looks three times a minute at what is kept by the second; the rest is kept by the minute.
    fine = {"StorageResolution": 1} if number.kind is Kind.EACH_SECOND else {}
    return {"Name": number.name, "Unit": number.unit, **fine}
