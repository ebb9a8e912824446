"""The guide to adding a tool is followed as it is written: its tool passes what is asked of every tool."""

from __future__ import annotations

import os
import re
from dataclasses import fields
from pathlib import Path

import pytest

from server.config.settings import PREFIX, ROOT, Settings
from tests.new_tool import FILE, FULL, GUIDE, LEFT, LINE, checked, copied, follow_the_guide, with_line
from tests.support.cases import cases
from tests.support.documents import rows
from tools.contract import ToolContext
from tools.registry import TOOLS
from tools.store.models import Title
from tools.store.store import Store

PAGE = (ROOT / GUIDE).read_text("utf-8")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    copied(tmp_path)
    return tmp_path


def test_the_page_s_tool_passes_what_is_asked_of_every_tool(tree: Path) -> None:
    """But for the room in the list of all tools, which the page says is to be made."""
    assert checked(tree, follow_the_guide(tree))
    assert LINE.findall(PAGE) == ["count_volumes"]
    assert "count_volumes" not in {tool.name for tool in TOOLS}, "the page builds what is not there"
    assert ("24 KB" in PAGE, FULL.partition("::")[0] in PAGE) == (True, True)


def test_types_on_the_page_have_the_fields_that_it_names() -> None:
    named = [[set(re.findall(r"`(\w+)`", cell)) for cell in row] for row in rows(PAGE)]
    assert set[str]().union(*(row[0] for row in named)) <= {each.name for each in fields(ToolContext)}
    assert set[str]().union(*(row[1] for row in named)) <= {each.name for each in fields(Store)}
    assert set[str]().union(*(row[2] for row in named)) <= {each.name for each in fields(Title)} | {"display"}


@cases("part", [FILE, LINE], ids=["files", "line"])
def test_a_page_without_a_part_of_the_tool_is_refused(part: re.Pattern[str], tmp_path: Path) -> None:
    (tmp_path / GUIDE).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / GUIDE).write_text(part.sub("", PAGE), "utf-8")
    with pytest.raises(ValueError, match="no file, line and test of a new tool"):
        follow_the_guide(tmp_path)


@cases("imported", ["a, b, c", "(\n    a,\n    b,\n    c,\n)"], ids=["one line", "many lines"])
def test_registry_line_and_import_are_inserted(imported: str) -> None:
    registry = f"from tools import {imported}\n\nTOOLS: tuple[Tool, ...] = (\n    b.TOOL,\n    a.TOOL,\n    c.TOOL,\n)\n"
    added = with_line(registry, "count_volumes")
    assert added.endswith("    c.TOOL,\n    count_volumes.TOOL,\n)\n")
    names = added.partition("import ")[2].partition("\n\n")[0]
    assert set(re.findall(r"\w+", names)) == {"a", "b", "c", "count_volumes"}


def test_registry_of_another_form_is_refused() -> None:
    with pytest.raises(ValueError, match="no list of tools"):
        with_line("TOOLS = ()\n", "count_volumes")


def test_copy_of_the_tree_has_no_settings_of_the_developer(tree: Path) -> None:
    assert os.access(tree / "infra/dotenv.py", os.X_OK)
    assert not [name for name in LEFT if (tree / name).exists()]


def test_test_environment_has_no_settings_of_the_developer() -> None:
    """`make test` reads .env as every target does."""
    assert {f"{PREFIX}{name.upper()}" for name in Settings.__dataclass_fields__}.isdisjoint(os.environ)
