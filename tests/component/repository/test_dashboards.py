"""Dashboards and alarms use metrics that a running server publishes on /metrics and in CloudWatch lines."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from infra.alarms.alarm import Formula, Share
from infra.alarms.cloudwatch import Deployed, alarms
from infra.alarms.rules import ALARMS, alerts
from infra.dashboards.cloudwatch import body
from infra.dashboards.layout import COLUMNS, placed
from infra.dashboards.panels import PANELS
from server.config.settings import ROOT
from server.telemetry.service_levels import NUMBERS
from tests.support.compose import OBSERVABILITY, named
from tests.support.process import serving
from tools.store.backends.dynamodb.tables import TABLES

NAMESPACE = "MangaTools/test"
WHEN_A_BREAKER_MOVES = {"BackendLost", "RedisAway"}
END_SECONDS = 30.0


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], list[dict[str, Any]]]:
    """The families of /metrics, and the lines for CloudWatch, of a server that runs and is stopped."""
    flags = tmp_path_factory.mktemp("flags") / "flags.json"
    flags.write_text("{}")
    return asyncio.run(_told(flags))


async def _told(flags: Path) -> tuple[set[str], list[dict[str, Any]]]:
    async with serving(emf=NAMESPACE, flags_url=flags.as_uri()) as server:
        with await asyncio.to_thread(urlopen, f"{server.url}/metrics") as answer:
            text = answer.read().decode()
        server.signal(signal.SIGTERM)
        assert await server.ended(END_SECONDS) == 0
        lines = [json.loads(line) for line in server.lines if line.startswith('{"_aws"')]
    return set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE)), lines


def families(names: set[str]) -> set[str]:
    """Of samples: a histogram's are called after it, and counters and infos have their names whole."""
    return {re.sub(r"_bucket$", "", name) for name in names}


def test_grafana_and_prometheus_use_exported_metrics_only(told: tuple[set[str], list[dict[str, Any]]]) -> None:
    shown = {name for panel in PANELS for query in panel.queries for name in named(query.expression)}
    ruled = {
        name for line in alerts().splitlines() for name in named(line) if not line.strip().startswith(("do:", "summary:"))
    }
    assert len(shown) > 15
    assert families(shown) <= told[0]
    assert families(ruled) <= told[0]


def test_cloudwatch_dashboard_and_alarms_use_exactly_the_published_metrics(
    told: tuple[set[str], list[dict[str, Any]]],
) -> None:
    """Dashboard and alarms are taken together; a breaker that never changed has no metric yet."""
    lines = {metric["Name"] for line in told[1] for metric in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]}
    numbers = {number.name for number in NUMBERS}
    assert numbers - WHEN_A_BREAKER_MOVES <= lines <= numbers
    assert {line["_aws"]["CloudWatchMetrics"][0]["Namespace"] for line in told[1]} == {NAMESPACE}
    own = [each for panel in PANELS for each in panel.shown if not each.native and not each.tables]
    shown = {name for each in own for name in (each.number, *each.per)}
    watched = set(re.findall(r'"MetricName": "(\w+)"', json.dumps(alarms(Deployed("p", NAMESPACE, "page", "ticket")))))
    assert shown == numbers
    assert {name for name in watched if not name.startswith("manga_")} <= numbers
    assert families({re.sub("_total$", "", name) for name in watched - numbers}) <= {
        re.sub("_total$", "", name) for name in told[0]
    }


def test_cloudwatch_dashboard_is_valid_and_its_widgets_do_not_overlap() -> None:
    """Widgets lie inside the grid; each line is a complete metric or an expression over ids."""
    widgets = body(NAMESPACE, "eu-west-1")["widgets"]
    taken: set[tuple[int, int]] = set()
    for widget in widgets:
        cells = {(widget["x"] + x, widget["y"] + y) for x in range(widget["width"]) for y in range(widget["height"])}
        assert not taken & cells
        assert all(x < COLUMNS for x, _ in cells)
        taken |= cells
        if widget["type"] == "log":
            assert widget["properties"]["query"].startswith("SOURCE '/manga-tools' | filter ")
            continue
        lines = widget["properties"]["metrics"]
        ids = {line[-1]["id"] for line in lines if isinstance(line[-1], dict) and "id" in line[-1]}
        assert len(ids) == len([line for line in lines if isinstance(line[-1], dict) and "id" in line[-1]])
        for line in lines:
            if "expression" in line[0]:
                used = re.sub(r"SEARCH\(.*\)|[A-Z]+", "", line[0]["expression"])
                assert set(re.findall(r"\b[a-z]\w*", used)) <= ids
            else:
                assert line[0] in (NAMESPACE, "AWS/DynamoDB")


def test_panels_of_alarms_show_the_alarm_s_own_metric_and_threshold() -> None:
    """Each alarm that CloudWatch computes of several metrics has a panel, but those that a table of the log shows."""
    shown = {each["properties"]["title"]: each["properties"] for each in body(NAMESPACE, "eu-west-1")["widgets"]}
    made = alarms(Deployed("p", NAMESPACE, "", ""))
    of_alarms = {panel.alarm: shown[panel.title] for panel in PANELS if panel.alarm}
    computed = {alarm.name for alarm in ALARMS if isinstance(alarm.watch, Formula | Share)}
    assert computed - {"MangaCallsFail", "MangaInternalErrors"} == of_alarms.keys()
    for name, widget in of_alarms.items():
        own = made[name]["Properties"]
        assert widget["annotations"] == {"horizontal": [{"label": name, "value": own["Threshold"]}]}
        drawn = {line[-1]["id"]: line for line in widget["metrics"] if "id" in line[-1]}
        for part in own["Metrics"]:
            line = drawn[part["Id"]]
            if stat := part.get("MetricStat"):
                metric = stat["Metric"]
                named = [word for pair in metric["Dimensions"] for word in (pair["Name"], pair["Value"])]
                assert line[:-1] == [metric["Namespace"], metric["MetricName"], *named]
                assert (line[-1]["stat"], line[-1]["period"]) == (stat["Stat"], stat["Period"])
            else:
                assert line[-1]["expression"] == part["Expression"]


def test_tables_and_their_indexes_are_named_whole_on_the_dashboard() -> None:
    """A search by the beginning of a name finds nothing."""
    (widget,) = [each for each in body(NAMESPACE, "r", "manga-tools-prod-shared")["widgets"] if "Dynamo" in str(each)]
    drawn = {tuple(line[2:-1]) for line in widget["properties"]["metrics"]}
    tables = {("TableName", table.full_name("manga-prod-")) for table in TABLES}
    assert drawn == tables | {("TableName", "manga-prod-releases", "GlobalSecondaryIndexName", "by_month")}


def test_every_panel_has_a_place_and_a_unique_title() -> None:
    assert [panel for panel, _, _ in placed(PANELS)] == list(PANELS)
    assert len({panel.title for panel in PANELS}) == len(PANELS)


def test_dashboard_command_prints_its_body() -> None:
    command = [sys.executable, "-m", "infra.dashboards", NAMESPACE, "eu-west-1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert json.loads(done.stdout) == body(NAMESPACE, "eu-west-1")
    wrong = subprocess.run(command[:3], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, "")


def test_collector_scrapes_the_job_of_the_rules_and_its_pipelines_are_complete() -> None:
    """Each component that a pipeline names is defined."""
    config = yaml.safe_load((OBSERVABILITY / "collector.yml").read_text("utf-8"))
    (scraped,) = config["receivers"]["prometheus"]["config"]["scrape_configs"]
    rules = (OBSERVABILITY / "prometheus.yml").read_text("utf-8")
    assert (scraped["job_name"], scraped["metrics_path"]) == ("manga-tools", "/metrics")
    assert f"job_name: {scraped['job_name']}\n" in rules
    pipeline = config["service"]["pipelines"]["metrics"]
    assert all(set(pipeline[kind]) <= config[kind].keys() for kind in ("receivers", "processors", "exporters"))
    assert set(config["service"]["extensions"]) == config["extensions"].keys()
