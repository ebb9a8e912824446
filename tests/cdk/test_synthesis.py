"""The synthesis itself: the same bytes each time, without a network, and nothing that the linters would not have."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.support.cdk import ROOT, STACKS, Template, errors, read, synthesise, without_hashes
from tests.support.environments import python_of

SNAPSHOTS = Path(__file__).parent / "snapshots"
WILDCARDS = {"AwsSolutions-IAM4", "AwsSolutions-IAM5"}
BY_CDK = "CloudFormation-Validate::"
"""What CDK says of its own constructs."""
STAY = {
    "AwsSolutions-DDB3", "AwsSolutions-ECS2", "AwsSolutions-IAM5", "AwsSolutions-S1", "AwsSolutions-SMG4",
    # The door: sockets are authorised at $connect, everybody may knock, no log has addresses, one policy of AWS.
    "AwsSolutions-APIG4", "AwsSolutions-EC23", "AwsSolutions-ELB2", "AwsSolutions-IAM4",
}  # fmt: skip


def files(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file()}


def test_two_syntheses_are_equal_to_the_byte(synthesised: Path, tmp_path: Path) -> None:
    synthesise(tmp_path)
    first, second = files(synthesised), files(tmp_path)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_nothing_is_packed_or_looked_up(synthesised: Path, stage: str) -> None:
    """The assets are the templates themselves, and no value of an account was asked for."""
    manifest = json.loads((synthesised / stage / "manifest.json").read_text())
    assert "missing" not in manifest
    for stack in STACKS[stage]:
        assets = json.loads((synthesised / stage / f"manga-tools-{stage}-{stack}.assets.json").read_text())
        assert [each["source"]["path"] for each in assets["files"].values()] == [
            f"manga-tools-{stage}-{stack}.template.json"
        ]
        assert assets["dockerImages"] == {}


def test_cfn_lint_has_nothing_to_say(synthesised: Path) -> None:
    lint = python_of("clients/cdk").with_name("cfn-lint")
    listed = sorted(synthesised.glob("*/*.template.json"))
    assert len(listed) == 5
    # Zones are stated because nothing is looked up: W3010 would have them asked for.
    command = [lint, "--ignore-checks", "W3010", "--template", *listed]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_cdk_nag_finds_nothing(synthesised: Path, stage: str) -> None:
    report = synthesised / stage / "validation-report.json"
    found = json.loads(report.read_text())["pluginReports"] if report.exists() else []
    assert [each for plugin in found for each in plugin["violations"]] == []


def test_what_cdk_nag_lets_pass_is_known_and_explained(templates: dict[str, Template]) -> None:
    passed = [
        rule
        for template in templates.values()
        for resource in template.body["Resources"].values()
        for rule in resource.get("Metadata", {}).get("cdk_nag", {}).get("rules_to_suppress", ())
        if not rule["id"].startswith(BY_CDK)
    ]
    assert {rule["id"].partition("[")[0] for rule in passed} == STAY
    assert all(len(rule["reason"].split()) >= 5 for rule in passed)
    assert all("[" in rule["id"] for rule in passed if rule["id"].startswith(tuple(WILDCARDS))), (
        "a wildcard is named, not waved through"
    )


def test_the_templates_are_those_that_were_reviewed(synthesised: Path) -> None:
    """All of production and dev's pod but for hashes; MANGA_TEST_SNAPSHOTS=1 writes them anew, for a reviewer to read the
    difference. The foundation of dev has nothing else."""
    dev, prod = (read(synthesised, stage) for stage in ("dev", "prod"))
    for template in (dev["pod"], *prod.values()):
        reviewed = SNAPSHOTS / f"{template.name}.json"
        text = without_hashes(json.dumps(template.body, indent=1, sort_keys=True)) + "\n"
        if os.environ.get("MANGA_TEST_SNAPSHOTS"):
            reviewed.write_text(text)
        assert text == reviewed.read_text(), template.name
    kinds = [{each["Type"] for each in stage["foundation"].body["Resources"].values()} for stage in (dev, prod)]
    assert kinds[0] <= kinds[1]


def test_an_example_of_an_address_stops_the_deployment_and_not_the_synthesis(synthesised: Path, stage: str) -> None:
    """tests/cdk/test_shop.py has a stage with addresses of its own."""
    (error,) = errors(synthesised, stage)
    assert error.startswith("told.page or told.ticket is an example")


def test_a_wrong_release_stops_the_synthesis(tmp_path: Path) -> None:
    done = synthesise(tmp_path, "--release", "latest", silent=False)
    assert done.returncode == 2
    assert done.stderr.strip().endswith(
        "the config cannot be used: release has to be a tag that stays: what latest was cannot be rolled back to"
    )
