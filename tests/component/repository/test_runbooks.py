"""Every alarm has its runbook, and every runbook its alarm, its words and its rehearsal."""

from __future__ import annotations

import re

from infra.alarms.alarm import RUNBOOKS
from infra.alarms.cloudwatch import Deployed, alarms
from infra.alarms.door import NAMES as OF_THE_DOOR
from infra.alarms.native import NAMES as NATIVE
from infra.alarms.rules import NAMES as RULED
from infra.dashboards.cloudwatch import body
from infra.dashboards.panel import Panel
from infra.dashboards.panels import PANELS
from server.config.settings import ROOT
from tests.snapshots.rehearsed import MARKER, runbooks
from tests.support.cases import cases

TEXT = (ROOT / RUNBOOKS).read_text("utf-8")
NAMES = (*RULED, *NATIVE, *OF_THE_DOOR)
PARTS = ("Customers see", "Confirm", "Do", "Rehearsed")
"""In this order; "Over when" may stand before the last."""
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))


def test_every_alarm_has_a_runbook_and_every_runbook_an_alarm() -> None:
    assert sorted(SECTIONS) == sorted(NAMES)


@cases("name", NAMES)
def test_runbook_states_effect_confirmation_and_action(name: str) -> None:
    """Each runbook has words of its own for the three."""
    said = re.findall(r"^- \*\*([\w ]+?)\.?\*\*,? ?(.*)", SECTIONS[name], re.MULTILINE)
    assert [part for part, _ in said if part != "Over when"] == list(PARTS)
    assert all(words for part, words in said[:-1]), said
    assert re.match(r"\n(Page|Ticket)\b", SECTIONS[name])


@cases("name", NAMES)
def test_runbook_was_rehearsed_by_an_existing_test_or_scenario(name: str) -> None:
    rehearsed = SECTIONS[name].partition("**Rehearsed.**")[2]
    tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", rehearsed)
    assert tests or MARKER.search(rehearsed)
    for file, test in tests:
        assert f"def {test}(" in (ROOT / file).read_text("utf-8"), test


def test_figures_in_runbooks_are_those_of_the_reports() -> None:
    assert runbooks() == TEXT, "make snapshots writes them anew"


def test_panels_named_in_runbooks_are_on_the_dashboard() -> None:
    """Words in italics are panels, by the beginning of their titles, or scenarios, which end in a colon."""
    titles = [panel.title for panel in PANELS]
    named = set(re.findall(r"(?<!\*)\*([A-Z0-9][^*]+)\*(?!\*|:)", TEXT)) - {"page", "ticket"}
    assert len(named) > 10
    for panel in named:
        assert any(title.startswith(panel) for title in titles), panel


def test_runbooks_of_cloudwatch_alarms_name_panels_of_its_dashboard() -> None:
    """Panels marked as Grafana's are exempt, and are not there."""
    titles = [widget["properties"]["title"] for widget in body("n", "r")["widgets"]]
    called = " ".join(each["Properties"]["AlarmName"] for each in alarms(Deployed("p", "n", "", "")).values())
    sent = 0
    for name in (*(name for name in RULED if f"p-{name}" in called), *NATIVE):
        for panel in re.findall(r"(?<!\*)\*([A-Z0-9][^*]+)\*(?!\*|:| \(Grafana\))", SECTIONS[name]):
            sent += 1
            assert any(title.startswith(panel) for title in titles), (name, panel)
    assert sent > 10
    for panel in re.findall(r"(?<!\*)\*([A-Z0-9][^*]+)\* \(Grafana\)", TEXT):
        assert not any(title.startswith(panel) for title in titles), panel


@cases("panel", [panel for panel in PANELS if panel.alarm])
def test_runbook_of_an_alarm_names_the_panel_of_its_metric(panel: Panel) -> None:
    """Without an exemption: it is on CloudWatch too."""
    assert re.search(rf"\*{panel.title[:14]}[^*]*\*(?! \(Grafana)", SECTIONS[str(panel.alarm)])
