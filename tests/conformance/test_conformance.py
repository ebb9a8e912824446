"""The official conformance suite, in both of the protocol's eras."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.baseline import Excused, baseline, surprises
from tests.conformance.fixture.app import fixture_app
from tests.conformance.suite import VERSIONS, Scenario, run, scored
from tests.support.installed import node


@pytest.mark.timeout(150)
@pytest.mark.parametrize("version", VERSIONS)
async def test_every_scenario_passes_but_for_what_is_excused(version: str, tmp_path: Path) -> None:
    """What is not met has to be on the list with its reason, and what is on the list must not be met."""
    suite = node()
    async with fixture_app() as url:
        found = await run(suite, url, version, tmp_path)
    assert surprises(found, baseline(version), scored(suite, version)) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_that_is_scored_is_excused(version: str) -> None:
    excused = baseline(version)
    assert not excused.keys() & scored(node(), version)
    assert all(each.reason and each.checks for each in excused.values())


def test_a_surprise_is_told_whichever_way_it_goes() -> None:
    excused = {"polls": Excused("why", frozenset({"primes"})), "gone": Excused("why", frozenset({"any"}))}
    found = {
        "polls": Scenario(frozenset({"primes"}), {}),
        "pings": Scenario(frozenset({"answers"}), {"echoes": "No echo"}),
        "lists": Scenario(frozenset(), {}),
    }
    assert surprises(found, excused, frozenset({"lists", "reads"})) == [
        "gone: did not run",
        "reads: did not run",
        "polls: primes is met, take it off the list",
        "pings: echoes: No echo",
        "lists: nothing was checked",
    ]
    known = {"polls": Excused("why", frozenset({"primes"}))}
    assert surprises({"polls": Scenario(frozenset({"retries"}), {"primes": "No"})}, known, frozenset({"polls"})) == []
