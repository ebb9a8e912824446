"""`make example` finds the file, the line and the test in the guide, and puts each where it belongs."""

from __future__ import annotations

import ast
import os
import types
from pathlib import Path

import pytest

import server.wiring
from server.config.settings import PREFIX, ROOT, Settings
from tests.new_tool import FROM_THE_GUIDE, GUIDE, add_the_line, copied, follow_the_guide
from tests.support.calling import called, opened
from tests.support.documents import after_all, blocks
from tools.registry import TOOLS


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (GUIDE, "tools/registry.py", "tests/component/tools/test_recommendations.py"):
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


def test_one_file_one_line_and_one_test_are_taken_from_the_guide(tree: Path) -> None:
    before = listed(tree / "tools/registry.py")
    follow_the_guide(tree)
    assert listed(tree / "tools/registry.py") == [*before, "count_volumes.TOOL"]
    assert "import count_volumes, " in (tree / "tools/registry.py").read_text("utf-8")
    assert 'name="count_volumes"' in (tree / "tools/count_volumes.py").read_text("utf-8")
    ast.parse((tree / "tools/count_volumes.py").read_text("utf-8"))
    assert "async def test_" in (tree / "tests/component/tools/test_count_volumes.py").read_text("utf-8")


@pytest.mark.parametrize("what", FROM_THE_GUIDE)
def test_a_guide_that_says_it_otherwise_is_told(what: str, tree: Path) -> None:
    """Whoever writes it anew is not passed over in silence."""
    guide = tree / GUIDE
    guide.write_text(FROM_THE_GUIDE[what].sub("", guide.read_text("utf-8")), "utf-8")
    with pytest.raises(ValueError, match=f"no {what} of a new tool"):
        follow_the_guide(tree)


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


async def test_the_example_of_a_new_tool_works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its module and the one line are all that is needed to call it through the whole pipeline."""
    module = types.ModuleType("count_volumes")
    exec(compile(blocks("python", after_all("new tool"))[0], "tools/count_volumes.py", "exec"), module.__dict__)
    others = [tool for tool in TOOLS if tool.name != module.TOOL.name]  # where the example was followed it is one of them
    monkeypatch.setattr(server.wiring, "TOOLS", (*others, module.TOOL))
    async with opened(tmp_path) as app:
        found = await called(app, "count_volumes", {"title_id": "manga-001001"})
        missing = await called(app, "count_volumes", {"title_id": "manga-999999"})
        wrong = await called(app, "count_volumes", {"title_id": "One Piece"})
    assert found["structuredContent"]["volumes"] > 100
    assert missing["structuredContent"]["error"]["name"] == "NOT_FOUND"
    assert wrong["structuredContent"]["error"]["name"] == "VALIDATION_ERROR"
