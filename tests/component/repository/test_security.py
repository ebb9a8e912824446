"""Every promise of SECURITY.md is covered by a test."""

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
def test_each_row_of_security_md_names_an_existing_test(row: str) -> None:
    """A row names a file, or a test by name where that test alone is the proof."""
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", row.rstrip("| ").rpartition("|")[2])
    assert named, "the row names no test"
    for path, test in named:
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert test in functions if test else any(name.startswith("test_") for name in functions)


def test_owasp_list_is_complete_and_in_order() -> None:
    """All ten risks stand in their order."""
    assert [row.split()[1] for row in ROWS if row.startswith("| LLM")] == OWASP
