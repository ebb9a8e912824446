"""`make example` finds the file, the line and the test in the README, and puts each where it belongs."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from server.config.settings import PREFIX, ROOT, Settings
from tests.new_tool import FROM_README, add_the_line, copied, follow_the_readme


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("README.md", "tools/registry.py", "tests/component/tools/test_recommendations.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    return tmp_path


def listed(registry: Path) -> list[str]:
    """The modules in the list of tools, in order."""
    (tools,) = [
        node for node in ast.parse(registry.read_text("utf-8")).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == "TOOLS"
    ]  # fmt: skip
    assert isinstance(tools.value, ast.Tuple)
    return [ast.unparse(each) for each in tools.value.elts]


def test_one_file_one_line_and_one_test_are_taken_from_the_readme(tree: Path) -> None:
    before = listed(tree / "tools/registry.py")
    follow_the_readme(tree)
    assert listed(tree / "tools/registry.py") == [*before, "count_volumes.TOOL"]
    assert "import count_volumes, " in (tree / "tools/registry.py").read_text("utf-8")
    assert 'name="count_volumes"' in (tree / "tools/count_volumes.py").read_text("utf-8")
    ast.parse((tree / "tools/count_volumes.py").read_text("utf-8"))
    assert "async def test_" in (tree / "tests/component/tools/test_count_volumes.py").read_text("utf-8")


@pytest.mark.parametrize("what", FROM_README)
def test_a_readme_that_says_it_otherwise_is_told(what: str, tree: Path) -> None:
    """Whoever writes it anew is not passed over in silence."""
    readme = tree / "README.md"
    readme.write_text(FROM_README[what].sub("", readme.read_text("utf-8")), "utf-8")
    with pytest.raises(ValueError, match=f"no {what} of a new tool"):
        follow_the_readme(tree)


def test_a_registry_of_another_form_is_told(tree: Path) -> None:
    (tree / "tools/registry.py").write_text("TOOLS = ()\n")
    with pytest.raises(ValueError, match="no list of tools"):
        add_the_line(tree / "tools/registry.py", "count_volumes", ".TOOL")


def test_the_copy_has_everything_but_what_was_computed(tmp_path: Path) -> None:
    """And nobody's own settings."""
    copied(tmp_path)
    assert (tmp_path / "Makefile").read_bytes() == (ROOT / "Makefile").read_bytes()
    assert os.access(tmp_path / "infra/dotenv.py", os.X_OK)
    assert not [name for name in (".git", ".env", ".mypy_cache") if (tmp_path / name).exists()]


def test_no_setting_of_whoever_runs_the_tests_reaches_them() -> None:
    """`make test` reads .env as every target does."""
    assert {f"{PREFIX}{name.upper()}" for name in Settings.__dataclass_fields__}.isdisjoint(os.environ)
