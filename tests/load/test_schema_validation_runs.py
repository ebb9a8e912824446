"""The comparison of validators runs, here with jsonschema in the place of the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.load import schema_validation


@dataclass
class Other:
    """jsonschema with the names that jsonschema-rs has. What it tells of is told once, as the other does."""

    schema: Any
    _validator: Any = field(init=False)

    def __post_init__(self) -> None:
        self._validator = Draft202012Validator(self.schema)

    def is_valid(self, value: Any) -> bool:
        return bool(self._validator.is_valid(value))

    def iter_errors(self, value: Any) -> Iterator[Any]:
        for error in self._validator.iter_errors(value):
            error.instance_path, error.schema_path = error.absolute_path, [error.validator]
            yield error


def test_every_case_is_measured_and_told_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_validation, "SECONDS", 0.0001)
    monkeypatch.setattr(schema_validation, "ROUNDS", 1)
    cases = [*schema_validation.arguments(Other), *schema_validation.results(Other)]
    assert len(cases) >= 10
    for case in cases:
        assert " of it" in schema_validation.measured(case)


def test_what_is_told_otherwise_is_found() -> None:
    """Python's `$` lets a last newline through and an infinity is no number here: plain jsonschema differs in both."""
    others = schema_validation.told_otherwise(Other)
    assert {each.split()[0] for each in others} == {"lookup_order", "search_manga_catalog"}
