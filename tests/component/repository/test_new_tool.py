"""`make example` takes the tool that the guide names out of a copy, and puts it back as the guide says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from server.config.settings import PREFIX, ROOT, Settings
from tests.new_tool import REGISTRY, copied, differing, follow_the_guide, naming, take_out
from tests.snapshots.guide import FROM_THE_GUIDE, GUIDE, example, guide_as_the_files_are
from tests.support.cases import cases
from tests.support.registry_line import with_line, without_line
from tools.registry import TOOLS

SHOWN = example(ROOT)
NEW = ("count_volumes", ".TOOL")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in (GUIDE, REGISTRY, *SHOWN.files):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    return tmp_path


def test_guide_shows_the_example_tool_as_it_is() -> None:
    assert SHOWN.module in {tool.name for tool in TOOLS}
    assert list(SHOWN.files) == [f"tools/{SHOWN.module}.py", f"tests/component/tools/test_{SHOWN.module}.py"]
    assert guide_as_the_files_are(ROOT) == (ROOT / GUIDE).read_text("utf-8"), "make snapshots writes it anew"


def test_example_tool_taken_out_is_restored_by_following_the_guide(tree: Path) -> None:
    """The import may stand elsewhere among the others, until ruff has sorted them."""
    place = take_out(tree, SHOWN)
    assert naming(tree, SHOWN.module) == []
    follow_the_guide(tree, SHOWN, place)
    for path in SHOWN.files:
        assert (tree / path).read_bytes() == (ROOT / path).read_bytes()
    before, after = ((root / REGISTRY).read_text("utf-8") for root in (ROOT, tree))
    assert without_line(before, SHOWN.line)[1] == without_line(after, SHOWN.line)[1] == place
    assert before.count(SHOWN.module) == after.count(SHOWN.module)


def test_different_and_missing_files_are_listed(tree: Path) -> None:
    everything_else = set(differing(tree))
    assert REGISTRY not in everything_else
    (tree / REGISTRY).write_text("TOOLS = ()\n")
    (tree / "tools/another.py").touch()
    assert set(differing(tree)) - everything_else == {REGISTRY, "tools/another.py"}


def test_code_that_names_the_example_tool_is_listed_and_documents_are_not(tree: Path) -> None:
    assert set(naming(tree, SHOWN.module)) == {REGISTRY, *SHOWN.files}


def test_guide_is_rewritten_from_the_files(tree: Path) -> None:
    module = tree / f"tools/{SHOWN.module}.py"
    module.write_text(module.read_text("utf-8").replace("timeout_ms=300", "timeout_ms=301"), "utf-8")
    (tree / GUIDE).write_text(guide_as_the_files_are(tree), "utf-8")
    assert "timeout_ms=301" in (tree / GUIDE).read_text("utf-8")
    module.unlink()
    assert guide_as_the_files_are(tree) == (tree / GUIDE).read_text("utf-8"), "what is not there stays as it is shown"


@cases("what", FROM_THE_GUIDE)
def test_guide_without_a_part_of_the_example_is_refused(what: str, tree: Path) -> None:
    """A guide rewritten without it must not pass unnoticed."""
    guide = tree / GUIDE
    guide.write_text(FROM_THE_GUIDE[what].sub("", guide.read_text("utf-8")), "utf-8")
    with pytest.raises(ValueError, match=f"no {what} of a new tool"):
        example(tree)


ONE_LINE = "from tools import a, b, c\n\nTOOLS: tuple[Tool, ...] = (\n    b.TOOL,\n    a.TOOL,\n    c.TOOL,\n)\n"
MANY_LINES = ONE_LINE.replace("import a, b, c", "import (\n    a,\n    b,\n    c,\n)")


@cases("registry", [ONE_LINE, MANY_LINES], ids=["one line", "many lines"])
@cases("module", ["a", "b", "c"])
def test_registry_line_and_import_are_removed_and_inserted(registry: str, module: str) -> None:
    line = (module, ".TOOL")
    without, place = without_line(registry, line)
    assert f"{module}.TOOL" not in without
    assert modules(without) == {"a", "b", "c"} - {module}
    again = with_line(without, line, place)
    assert again.partition("TOOLS")[2] == registry.partition("TOOLS")[2]
    assert modules(again) == {"a", "b", "c"}
    assert with_line(registry, NEW).endswith("    c.TOOL,\n    count_volumes.TOOL,\n)\n")


def modules(registry: str) -> set[str]:
    imported = registry.partition("import ")[2].partition("\n\n")[0]
    return set(re.findall(r"\w+", imported))


def test_registry_of_another_form_is_refused() -> None:
    with pytest.raises(ValueError, match="no list of tools"):
        with_line("TOOLS = ()\n", NEW)


def test_copy_of_the_tree_has_every_file_except_caches_and_dotenv(tmp_path: Path) -> None:
    """A developer's own settings are not copied."""
    copied(tmp_path)
    assert differing(tmp_path) == []
    assert os.access(tmp_path / "infra/dotenv.py", os.X_OK)
    assert not [name for name in (".git", ".env", ".mypy_cache") if (tmp_path / name).exists()]


def test_test_environment_has_no_settings_of_the_developer() -> None:
    """`make test` reads .env as every target does."""
    assert {f"{PREFIX}{name.upper()}" for name in Settings.__dataclass_fields__}.isdisjoint(os.environ)
