"""Client environments: which one is right, the message for one that is not, and their driver processes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.cases import cases
from tests.support.driver import Driver, DriverError
from tests.support.environments import LOCKS, ROOT, problem, python_of

ECHO = """
import json, sys
for line in sys.stdin:
    command = json.loads(line)
    if command["do"] == "end":
        sys.exit("it was told to")
    if command["do"] == "tell":
        print(json.dumps({"client": "c", "tools": command["tools"]}))
    said = {"error": "ValueError: so it was asked"} if command["do"] == "fail" else {"value": command.get("what")}
    print(json.dumps({"id": command["id"], **said}), flush=True)
"""


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver([sys.executable, "-c", ECHO], tmp_path / "log")


@cases("name", list(LOCKS))
def test_environment_is_valid_only_with_its_own_lock(name: str, tmp_path: Path) -> None:
    lock, made = tmp_path / LOCKS[name], tmp_path / ".cache" / name / ".lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    made.parent.mkdir(parents=True)
    lock.write_text("a==1\n")
    assert "is not there; make it with: make .cache/" in (problem(name, tmp_path) or "")
    made.write_text("a==0\n")
    assert f"not what {LOCKS[name]} says" in (problem(name, tmp_path) or "")
    made.write_bytes(lock.read_bytes())
    assert problem(name, tmp_path) is None


@cases("name", list(LOCKS))
def test_makefile_has_a_target_for_each_environment(name: str) -> None:
    """The command that a skipped test names is a target."""
    assert (ROOT / LOCKS[name]).is_file()
    assert f"{LOCKS[name]}\n" in (ROOT / "Makefile").read_text("utf-8")


def test_missing_environment_fails_in_ci_and_skips_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.environments.problem", lambda name: "gone")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="gone"):
        python_of("sbom")
    monkeypatch.setenv("CI", "false")
    with pytest.raises(pytest.skip.Exception, match="gone"):
        python_of("sbom")


async def test_driver_returns_answers_notifications_and_errors(driver: Driver) -> None:
    heard: list[object] = []
    driver.listen("c", lambda said: heard.append(said["tools"]))
    assert driver.ask("say", what="here") == "here"
    assert await driver.asked("say", what=[1, 2]) == [1, 2]
    await driver.asked("tell", tools=["one"])
    assert heard == [["one"]]
    with pytest.raises(DriverError, match="so it was asked"):
        await driver.asked("fail")
    driver.close()


async def test_ended_driver_raises_for_waiting_and_later_requests(driver: Driver) -> None:
    """The error quotes the last lines of the driver's log."""
    with pytest.raises(DriverError, match="it was told to"):
        await driver.asked("end")
    with pytest.raises(DriverError, match="it was told to"):
        await driver.asked("say")
    with pytest.raises(DriverError, match="ended with 1"):
        driver.close()


def test_npm_packages_are_locked_by_hash_without_a_download_address() -> None:
    packages = json.loads((ROOT / LOCKS["clients/npm"]).read_text("utf-8"))["packages"]
    own = packages.pop("")
    assert {"@modelcontextprotocol/conformance", "@modelcontextprotocol/sdk"} <= own["dependencies"].keys()
    assert not [name for name, package in packages.items() if not package.get("integrity", "").startswith("sha512-")]
    assert not [name for name, package in packages.items() if "resolved" in package]
