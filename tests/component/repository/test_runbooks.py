"""Every alarm has its runbook, and every runbook its alarm, its words and its rehearsal."""

from __future__ import annotations

import re

from infra.alarms.alarm import RUNBOOKS
from infra.alarms.cloudwatch import Deployed, alarms
from infra.alarms.door import NAMES as OF_THE_DOOR
from infra.alarms.native import NAMES as NATIVE
from infra.alarms.rules import NAMES as RULED
from infra.dashboards.cloudwatch import body
from infra.dashboards.panels import PANELS
from server.config.settings import ROOT
from tests.snapshots.rehearsed import MARKER, runbooks
from tests.support.cases import cases

TEXT = (ROOT / RUNBOOKS).read_text("utf-8")
NAMES = (*RULED, *NATIVE, *OF_THE_DOOR)
PARTS = ("Customers see", "Confirm", "Do", "Rehearsed")
"""In this order; "Over when" may stand before the last."""
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))


def test_there_is_one_for_every_alarm_and_for_nothing_else() -> None:
    assert sorted(SECTIONS) == sorted(NAMES)


@cases("name", NAMES)
def test_it_says_what_customers_see_how_to_confirm_and_what_to_do(name: str) -> None:
    """Each with words of its own."""
    said = re.findall(r"^- \*\*([\w ]+?)\.?\*\*,? ?(.*)", SECTIONS[name], re.MULTILINE)
    assert [part for part, _ in said if part != "Over when"] == list(PARTS)
    assert all(words for part, words in said[:-1]), said
    assert re.match(r"\n(Page|Ticket)\b", SECTIONS[name])


@cases("name", NAMES)
def test_it_was_rehearsed_by_a_scenario_or_by_a_test_that_there_is(name: str) -> None:
    rehearsed = SECTIONS[name].partition("**Rehearsed.**")[2]
    tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", rehearsed)
    assert tests or MARKER.search(rehearsed)
    for file, test in tests:
        assert f"def {test}(" in (ROOT / file).read_text("utf-8"), test


def test_the_figures_are_those_of_the_reports() -> None:
    assert runbooks() == TEXT, "make snapshots writes them anew"


def test_the_panels_it_sends_to_are_on_the_dashboard() -> None:
    """In italics stand panels, by the beginnings of their titles, and scenarios, which end in a colon."""
    titles = [panel.title for panel in PANELS]
    named = set(re.findall(r"(?<!\*)\*([A-Z0-9][^*]+)\*(?!\*|:)", TEXT)) - {"page", "ticket"}
    assert len(named) > 10
    for panel in named:
        assert any(title.startswith(panel) for title in titles), panel


def test_whoever_is_called_by_cloudwatch_is_sent_to_panels_that_it_has() -> None:
    """But for those that are marked to be Grafana's."""
    titles = [widget["properties"]["title"] for widget in body("n", "r")["widgets"]]
    called = " ".join(each["Properties"]["AlarmName"] for each in alarms(Deployed("p", "n", "", "")).values())
    sent = 0
    for name in (*(name for name in RULED if f"p-{name}" in called), *NATIVE):
        for panel in re.findall(r"(?<!\*)\*([A-Z0-9][^*]+)\*(?!\*|:| \(Grafana\))", SECTIONS[name]):
            sent += 1
            assert any(title.startswith(panel) for title in titles), (name, panel)
    assert sent > 10
