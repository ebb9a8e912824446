"""GitHub workflows run existing scripts and pinned actions, with minimal permissions."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.release_notes import notes_of
from server.config.settings import ROOT
from tests.support.cases import cases
from tests.support.compose import tool

FILES = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
USES = re.compile(r"^\s*(?:- )?uses: (?P<action>[\w.-]+/[\w./-]+)@(?P<commit>\S+)(?: # (?P<version>\S+))?$", re.MULTILINE)
# Beyond reading: a job's name, and why it may.
MAY_WRITE = {"push": {"packages", "id-token", "attestations"}, "release": {"contents"}}
workflows = cases("path", FILES, ids=lambda path: path.stem)


def jobs(path: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(path.read_text("utf-8"))["jobs"])


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(path).values() for step in job["steps"]]


def test_workflows_are_the_expected_ones() -> None:
    assert [path.stem for path in FILES] == ["cdk", "compose", "image", "nightly", "release", "scan", "test"]


def test_actionlint_finds_nothing() -> None:
    done = subprocess.run(
        [tool("actionlint"), "-no-color"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


@workflows
def test_every_action_is_pinned_by_commit_with_its_version_beside_it(path: Path) -> None:
    """A tag can be moved, and a commit cannot."""
    text = path.read_text("utf-8")
    used = list(USES.finditer(text))
    assert len(used) == len(re.findall(r"\buses:", text)) > 0
    for each in used:
        assert re.fullmatch(r"[0-9a-f]{40}", each["commit"]), each[0]
        assert re.fullmatch(r"v\d+\.\d+\.\d+", each["version"] or ""), each[0]


def test_an_action_has_one_commit_everywhere() -> None:
    pins = {
        (each["action"], each["commit"], each["version"])
        for path in FILES
        for each in USES.finditer(path.read_text("utf-8"))
    }
    assert len(pins) == len({action for action, _, _ in pins})


@workflows
def test_workflow_steps_run_make_targets_or_ci_scripts(path: Path) -> None:
    """A step is one line: a make target, or a script of .ci."""
    for command in (step["run"] for step in steps(path) if "run" in step):
        name, *words = command.split()
        if name == "make":
            assert words[0] in TARGETS, command
        else:
            assert name.startswith(".ci/"), command
            assert os.access(ROOT / name, os.X_OK), command
        assert "\n" not in command.strip()
        assert "${{" not in command, "an expression would be code of whoever names a branch"


@workflows
def test_workflow_jobs_have_minimal_permissions_and_a_timeout(path: Path) -> None:
    """Default permissions are empty, and no token stays where code of a pull request runs."""
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {}
    assert {"group", "cancel-in-progress"} <= workflow["concurrency"].keys()
    assert "pull_request_target" not in path.read_text("utf-8")
    for name, job in jobs(path).items():
        assert {scope for scope, level in job["permissions"].items() if level == "write"} == MAY_WRITE.get(name, set()), name
        assert job["timeout-minutes"] <= 90, name
        assert re.fullmatch(r"ubuntu-\d\d\.\d\d", job["runs-on"]), name
    for step in steps(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@cases("script", sorted((ROOT / ".ci").iterdir()), ids=lambda path: path.name)
def test_ci_script_is_valid_bash_and_stops_at_the_first_failure(script: Path) -> None:
    """Each script sets the options that stop it."""
    assert "\nset -euo pipefail\n" in script.read_text("utf-8")
    subprocess.run(["bash", "-n", str(script)], check=True, timeout=60)


CHANGELOG = (
    "# Changelog\n\n## [Unreleased]\n\n- next\n\n## [0.2.0] - 2026-11-23\n\n### Added\n\n- it\n\n## [0.1.0]\n\n- first\n"
)


def test_release_notes_are_taken_from_the_changelog() -> None:
    assert notes_of("v0.2.0", CHANGELOG, "0.2.0") == "### Added\n\n- it\n"
    assert notes_of("v0.1.0", CHANGELOG, "0.1.0") == "- first\n"


@cases(
    ("tag", "version", "reason"),
    [("v0.2.1", "0.2.0", "the tag is v0.2.1"), ("nightly", "0.2.0", "the tag is nightly"), ("v0.3.0", "0.3.0", "nothing")],
    ids=["another version", "no version", "no section"],
)
def test_release_of_an_unknown_version_is_refused(tag: str, version: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        notes_of(tag, CHANGELOG, version)
