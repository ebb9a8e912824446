"""A measure beyond its bound is named, and a bound only falls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from infra import ratchet


def test_growth_beyond_a_bound_is_refused_and_bounds_only_fall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree, bounds = tmp_path / "tree", tmp_path / "tree" / "infra" / "ratchet.toml"
    (tree / "infra").mkdir(parents=True)
    (tree / "server").mkdir()
    (tree / "server" / "one.py").write_text("a = 1\nb = 2\n")
    bounds.write_text("[most]\npython_lines = 5\npython_modules = 1\n\n[why]\n")
    for command in (("init", "-q"), ("add", "-A")):
        subprocess.run(["git", *command], cwd=tree, check=True)
    monkeypatch.setattr(ratchet, "ROOT", tree)
    monkeypatch.setattr(ratchet, "BOUNDS", bounds)
    assert ratchet.main(["--write"]) == 0
    assert "python_lines = 2\npython_modules = 1" in bounds.read_text()
    (tree / "server" / "two.py").write_text("c = 3\n")
    subprocess.run(["git", "add", "-A"], cwd=tree, check=True)
    assert ratchet.main([]) == 1
    told = capsys.readouterr().out
    assert "python_lines: 3" in told
    assert "python_modules: 2" in told
    assert ratchet.main(["--write"]) == 1, "nothing is raised"


def test_tree_is_within_its_bounds() -> None:
    assert subprocess.run([sys.executable, "infra/ratchet.py"], cwd=Path(__file__).parents[3], check=False).returncode == 0
