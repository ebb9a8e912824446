"""The list of tools: names that are exact, names that are near, and what stops the start."""

from __future__ import annotations

from dataclasses import replace

import pytest
from jsonschema import SchemaError

from tests.support.pipeline import COMPILED
from tools.registry import TOOLS, Registry


def test_a_name_is_found_exactly_and_near_ones_are_offered() -> None:
    assert COMPILED.get("check_inventory") is not None
    assert COMPILED.get("Check_Inventory") is None
    assert COMPILED.nearest("check_inventry")[0] == "check_inventory"
    assert COMPILED.nearest("?" * 10_000) == [tool.name for tool in TOOLS]


def test_two_tools_of_one_name_and_a_schema_that_is_none_stop_the_start() -> None:
    with pytest.raises(ValueError, match="same name"):
        Registry([TOOLS[2], TOOLS[2]])
    with pytest.raises(SchemaError):
        Registry([replace(TOOLS[2], input_schema={**TOOLS[2].input_schema, "type": "nonsense"})])
