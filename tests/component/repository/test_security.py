"""SECURITY.md promises nothing that no test covers."""

from __future__ import annotations

import ast
import re

from server.config.settings import ROOT
from tests.support.cases import cases

ROWS = [
    line
    for line in (ROOT / "SECURITY.md").read_text("utf-8").partition("## What is defended")[2].splitlines()
    if line.startswith("|") and "---" not in line and not line.endswith("| test |")
]
OWASP = [f"LLM{number:02}" for number in range(1, 11)]


@cases("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:40])
def test_each_row_names_a_test_that_exists(row: str) -> None:
    """By file, and by name where one test is the proof."""
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row.rstrip("| ").rpartition("|")[2])
    assert named, "the row names no test"
    for path, test in named:
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert test in functions if test else any(name.startswith("test_") for name in functions)


def test_owasps_list_is_whole() -> None:
    """All ten, in their order."""
    assert [row.split()[1] for row in ROWS if row.startswith("| LLM")] == OWASP
