"""The official conformance suite, in both of the protocol's eras."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import installed
from tests.support.serving import Serving
from tests.wire import conformance


@pytest.fixture(scope="module")
def node() -> installed.Node:
    return installed.node()


@pytest.mark.network
@pytest.mark.timeout(600)
@installed.only_where_wanted
@pytest.mark.parametrize("version", conformance.VERSIONS)
def test_the_official_suite_finds_only_what_is_known(
    version: str, node: installed.Node, server: Serving, tmp_path: Path
) -> None:
    """What fails has to be on the list with its reason, and what is on the list has to fail."""
    found = conformance.run(node, server.url, version, tmp_path)
    known = conformance.baseline()[version]
    assert conformance.surprises(found, known, conformance.APPLY_TO_ANY_SERVER[version]) == []


@pytest.mark.parametrize("version", conformance.VERSIONS)
def test_no_message_on_the_wire_breaks_the_schema_of_its_version(version: str) -> None:
    """The suite validates each message; nothing of that kind may ever be excused."""
    excused = [check for scenario in conformance.baseline()[version].values() for check in scenario["checks"]]
    assert excused
    assert not [check for check in excused if "wire-schema" in check]
