"""make and Docker Compose read the same values from `.env`, and the environment precedes it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infra.dotenv import values
from server.config.settings import ROOT
from tests.stack.require import require
from tests.support.cases import cases

READ = {
    "A=a": "a",
    "A=": "",
    "A= a b ": "a b",
    "A=a#b": "a#b",
    "A=a #b": "a",
    "A=a\t#b": "a\t#b",
    "A='a #b $c \\n \"d\"' # why": 'a #b $c \\n "d"',
    'A="a #b" # why': "a #b",
    "A='it is' ": "it is",
    "A=it's": "it's",
    "A=a\\b": "a\\b",
    "A='  a '": "  a ",
    "A=''": "",
    "A=a=b,c;d|e&f `g` (h) *": "a=b,c;d|e&f `g` (h) *",
    "A=redis://u:p%40w@cache:6379/0?x=1&y=2": "redis://u:p%40w@cache:6379/0?x=1&y=2",
    "export A=a": "a",
    "# A=b\n\n  A=a\r\n": "a",
    "A=a\nA=b": "b",
    "A=ü漫": "ü漫",
}
REFUSED = (
    "A=$b",
    'A="$b"',
    "A=a$$b",
    "A='a",
    'A="a',
    "A='a' b",
    'A="a\\nb"',
    "A",
    "A =b",
    "A: b",
    "A=#b",
    "A='a\\'",
    "-A=b",
)


@cases(("text", "value"), READ.items())
def test_dotenv_value_is_read_as_written(text: str, value: str) -> None:
    assert values(text) == {"A": value}


@cases("text", REFUSED)
def test_ambiguous_dotenv_line_is_refused_by_number_without_its_value(text: str) -> None:
    with pytest.raises(ValueError, match="^line 2") as caught:
        values(f"B=hunter2\n{text}")
    assert text.partition("=")[2] not in str(caught.value) or not text.partition("=")[2]
    assert "hunter2" not in str(caught.value)


def test_compose_reads_every_dotenv_value_alike(tmp_path: Path) -> None:
    """The real Compose reads all the values from one file."""
    beside = Path(sys.executable).with_name("docker-compose")
    program = str(beside) if beside.exists() else shutil.which("docker-compose")
    require("docker-compose", None if program else "it is not installed with requirements-dev.lock")
    assert program is not None
    names = {f"A{number}": (text.replace("A=", f"A{number}="), value) for number, (text, value) in enumerate(READ.items())}
    (tmp_path / ".env").write_text("\n".join(text for text, _ in names.values()), "utf-8")
    lines = [f"      {name}: ${{{name}-not read}}" for name in names]
    (tmp_path / "compose.yml").write_text("\n".join(["services:", "  s:", "    image: i", "    environment:", *lines]))
    clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(
        [program, "-f", "compose.yml", "config", "--format", "json"],
        cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["services"]["s"]["environment"]
    assert {name: text.replace("$$", "$") for name, text in found.items()} == {
        name: value for name, (_, value) in names.items()
    }


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The Makefile with an .env beside it, and a target of its own that shows the environment of a recipe."""
    (tmp_path / "infra").mkdir()
    shutil.copy(ROOT / "infra/dotenv.py", tmp_path / "infra/dotenv.py")
    own = 'show:\n\t@printf "%s|" "$$MANGA_AUTH_TOKENS" "$$MANGA_EMBEDDER" $(PORT)\n'
    (tmp_path / "Makefile").write_text(f"{(ROOT / 'Makefile').read_text()}\n{own}")
    (tmp_path / ".env").write_text("MANGA_AUTH_TOKENS='a $b #c'\nMANGA_EMBEDDER=none\nMANGA_PORT=9100\n")
    return tmp_path


def made(tree: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MANGA_", "MAKE", "MFLAGS"))}
    command = ["make", "-s", *arguments]
    return subprocess.run(
        command, cwd=tree, env={**own, **environment}, capture_output=True, text=True, timeout=60, check=False
    )


@needs_make
def test_make_recipes_see_the_values_of_dotenv_unchanged(tree: Path) -> None:
    """Dollars, spaces and number signs are kept; the port reaches smoke and agent too."""
    done = made(tree, "show")
    assert done.stdout == "a $b #c|none|9100|", done.stderr
    assert "http://127.0.0.1:9100" in made(tree, "-n", "smoke").stdout


@needs_make
def test_dotenv_values_are_not_executed_by_a_shell(tree: Path) -> None:
    (tree / ".env").write_text("MANGA_PORT='1; touch run-by-the-shell #'\n")
    for target in ("smoke", "agent"):
        made(tree, "-o", ".cache/clients/strands/.lock", target, "STRANDS=.cache/clients/strands")
    assert not (tree / "run-by-the-shell").exists()


@needs_make
def test_environment_and_command_line_override_dotenv(tree: Path) -> None:
    assert made(tree, "show", MANGA_EMBEDDER="local", MANGA_PORT="9200").stdout == "a $b #c|local|9200|"
    assert made(tree, "show", "PORT=9300").stdout == "a $b #c|none|9300|"
    assert made(tree, "show", "MANGA_PORT=9400").stdout == "a $b #c|none|9400|"


@needs_make
def test_make_works_without_dotenv(tree: Path) -> None:
    (tree / ".env").unlink()
    (tree / "infra/dotenv.py").unlink()
    assert made(tree, "show").stdout == "||8080|"


@needs_make
def test_malformed_dotenv_stops_every_make_target(tree: Path) -> None:
    (tree / ".env").write_text("# settings\nMANGA_AUTH_TOKENS=$hunter2\n")
    done = made(tree, "help")
    assert done.returncode == 2
    assert done.stderr.startswith(".env: line 2: put the value of MANGA_AUTH_TOKENS into single quotes")
    assert "hunter2" not in done.stderr


def test_dotenv_script_is_executable() -> None:
    """make starts the script by its path."""
    assert os.access(ROOT / "infra/dotenv.py", os.X_OK)
