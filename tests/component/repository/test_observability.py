"""The dashboard and the alert rules use the server's metrics, and the rules fire as they state."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.alarms.rules import NAMES
from server.call import Call, RequestMetadata
from server.config.settings import ROOT
from server.telemetry.events import CallFinished
from server.telemetry.metrics import Metrics
from server.telemetry.service_levels import BAD, GOOD, LEVELS
from session.resilience.breaker import BreakerState
from session.resilience.deadline import Deadline
from tests.support.breakers import breakers
from tests.support.compose import OBSERVABILITY, composed, named
from tests.support.pipeline import registered

EXEMPLAR_LABEL = "trace_id"


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((OBSERVABILITY / "alerts.yml").read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"] if rule["alert"] != "MangaDown"]


def exported() -> dict[str, dict[str, str]]:
    """The server's metrics with the labels of each, after a call that went well."""
    metrics = Metrics()
    metrics(CallFinished("c", "lookup_order", "ok", "live", None, 3.0, 2800, ("stock",), "sse", "u", None, {}, empty=True))
    metrics.watch_breakers(breakers(catalog=BreakerState.OPEN))
    metrics.count_refusal("http_401")
    metrics.count_background_death("flags")
    metrics.count_profile_event("written")
    metrics.watch_lines(lambda: 0, lambda: 0)
    metrics.lag.labels("flags").set_function(lambda: 0)
    metrics.record_answer_sent(
        Call("c", registered("lookup_order"), {}, RequestMetadata(), 0.0, deadline=Deadline.after(-1))
    )
    samples = [sample for family in metrics.registry.collect() for sample in family.samples]
    return {sample.name: dict(sample.labels) for sample in samples}


def test_dashboard_uses_existing_metrics_and_labels() -> None:
    board = json.loads((OBSERVABILITY / "dashboards/manga-tools.json").read_text("utf-8"))
    known, asked = exported(), set()
    levels = {"level": {*LEVELS}, "verdict": {GOOD, BAD}}
    for panel in board["panels"]:
        assert panel["targets"], panel["title"]
        for target in panel["targets"]:
            (name,) = named(target["expr"])
            assert name in known, name
            labels = {each.strip() for by in re.findall(r"by \(([^)]+)\)", target["expr"]) for each in by.split(",")}
            labels |= set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert labels <= known[name].keys(), target["expr"]
            chosen = dict(re.findall(r'(\w+)!?="([^"]*)"', target["expr"]))
            assert all(value in levels.get(label, {known[name][label]}) for label, value in chosen.items()), target["expr"]
            asked.add(name)
    shown = {re.sub(r"_(total|bucket|count|sum|created)$", "", name) for name in asked}
    ours = {re.sub(r"_(total|bucket|count|sum|created)$", "", name) for name in known if name.startswith("manga_")}
    assert ours <= shown, "a metric nobody looks at"


def test_alert_rules_use_existing_metrics_and_labels() -> None:
    known = exported()
    for rule in rules():
        names = named(rule["expr"])
        assert names, rule
        for name in names:
            assert name in known, name
        labels = {each.strip() for by in re.findall(r"by \(([^)]+)\)", rule["expr"]) for each in by.split(",")}
        stated = set(re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"]))) - {"instance"}
        has = {label for name in names for label in known.get(name, {})}
        assert labels | stated <= has, rule["alert"]
        grouped = re.search(r"sum by \(([^)]+)\)", rule["expr"])
        if grouped and "group_left" not in rule["expr"]:
            assert stated <= {each.strip() for each in grouped[1].split(",")}, "a label that the sum has dropped"


def test_every_alert_rule_has_severity_summary_and_action() -> None:
    found = rules()
    assert len({(rule["alert"], *sorted(rule["labels"].items())) for rule in found}) == len(found) > 10
    assert {rule["alert"] for rule in found} | {"MangaDown"} == set(NAMES)
    for rule in found:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert set(rule["annotations"]) == {"summary", "do", "runbook"}
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"\d+m", rule.get("for", "0m"))
        assert rule["expr"].count("(") == rule["expr"].count(")")


def test_prometheus_loads_the_alert_rules() -> None:
    (where,) = yaml.safe_load((OBSERVABILITY / "prometheus.yml").read_text("utf-8"))["rule_files"]
    mounted = {volume["target"]: Path(volume["source"]) for volume in composed()["prometheus"]["volumes"]}
    assert mounted[where] == OBSERVABILITY / "alerts.yml"


@pytest.mark.slow  # tests of alarms: ten seconds
def test_promtool_accepts_the_rules_and_their_tests_pass(tmp_path: Path) -> None:
    """It runs where Prometheus is installed."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: apt-get install prometheus)")
    for each in (OBSERVABILITY / "alerts.yml", Path(__file__).with_name("alerts.test.yml")):
        shutil.copy(each, tmp_path)
    for command in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts.test.yml"]):
        done = subprocess.run([promtool, *command], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr


def test_both_sides_of_a_division_in_a_rule_have_the_same_labels() -> None:
    """Prometheus divides series with equal labels only, and a rule without any never fires."""
    parts = [(rule, part) for rule in rules() for part in " ".join(rule["expr"].split()).split(" and ")]
    divisions = [(rule, part) for rule, part in parts if " / " in part]
    assert len(divisions) > 3
    for rule, part in divisions:
        left, right = part.split(" / ")
        ignored = re.search(r"ignoring \(([^)]+)\)", right)
        assert _labels(left) == _labels(right) | ({ignored[1]} if ignored else set()), rule["alert"]


def _labels(side: str) -> set[str]:
    """Those that a sum keeps; what is not summed keeps all."""
    summed = re.search(r"sum(?: by \(([^)]+)\))? ?\(", side)
    return set((summed[1] or "").split(", ")) - {""} if summed else {"all of its own"}


def test_half_open_breaker_counts_as_a_lost_backend() -> None:
    (rule,) = (rule for rule in rules() if rule["alert"] == "MangaBackendLost")
    comparison = re.fullmatch(r"manga_breaker_state\{\S+\} > (\d)", rule["expr"].strip())
    assert comparison is not None
    metrics = Metrics()
    for state, lost in ((BreakerState.CLOSED, False), (BreakerState.HALF_OPEN, True), (BreakerState.OPEN, True)):
        metrics.watch_breakers(breakers(catalog=state))
        value = metrics.registry.get_sample_value("manga_breaker_state", {"backend": "catalog"})
        assert value is not None
        assert (value > int(comparison[1])) is lost


def test_grafana_finds_the_dashboard_and_its_data_source() -> None:
    grafana = composed()["grafana"]
    mounted = {volume["target"]: Path(volume["source"]) for volume in grafana["volumes"]}
    home = Path(grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    board = json.loads((mounted[str(home.parent)] / home.name).read_text("utf-8"))
    provisioned = (OBSERVABILITY / "provisioning/datasources/prometheus.yml").read_text("utf-8")
    assert f"path: {home.parent}" in (OBSERVABILITY / "provisioning/dashboards/files.yml").read_text("utf-8")
    (uid,) = {panel["datasource"]["uid"] for panel in board["panels"]}
    assert f"uid: {uid}\n" in provisioned
    assert f"url: http://prometheus:{composed()['prometheus']['ports'][0]['target']}\n" in provisioned


def test_spans_reach_the_collector_and_zipkin() -> None:
    """Only where somebody says so; the address in the file's first lines is the one that works."""
    collector, zipkin = (composed()[name] for name in ("collector", "zipkin"))
    (mounted,) = (Path(volume["source"]) for volume in collector["volumes"])
    config = yaml.safe_load(mounted.read_text("utf-8"))
    pipeline = config["service"]["pipelines"]["traces"]
    assert all(set(pipeline[kind]) <= config[kind].keys() for kind in ("receivers", "processors", "exporters"))
    port = config["receivers"]["otlp"]["protocols"]["http"]["endpoint"].rpartition(":")[2]
    told = re.findall(r"OTEL_EXPORTER_OTLP_ENDPOINT=(\S+)", (ROOT / "docker-compose.yml").read_text("utf-8"))
    assert told == [f"http://collector:{port}"]
    for name in ("server", "agent", "chat"):
        assert composed()[name]["environment"]["OTEL_EXPORTER_OTLP_ENDPOINT"] == ""
        stated = composed(OTEL_EXPORTER_OTLP_ENDPOINT=told[0])[name]["environment"]
        assert stated["OTEL_EXPORTER_OTLP_ENDPOINT"] == told[0]
    address = f"http://zipkin:{zipkin['ports'][0]['target']}"
    assert config["exporters"]["zipkin"]["endpoint"] == f"{address}/api/v2/spans"
    (source,) = yaml.safe_load((OBSERVABILITY / "provisioning/datasources/zipkin.yml").read_text("utf-8"))["datasources"]
    assert (source["type"], source["url"]) == ("zipkin", address)


def test_exemplars_of_histograms_lead_to_their_trace() -> None:
    """Prometheus keeps exemplars, the panels of durations show them, and Grafana asks the source of traces for them."""
    assert "--enable-feature=exemplar-storage" in composed()["prometheus"]["command"]
    sources = [
        each
        for name in ("prometheus", "zipkin")
        for each in yaml.safe_load((OBSERVABILITY / f"provisioning/datasources/{name}.yml").read_text("utf-8"))[
            "datasources"
        ]
    ]
    (leads,) = sources[0]["jsonData"]["exemplarTraceIdDestinations"]
    assert leads == {"name": EXEMPLAR_LABEL, "datasourceUid": sources[1]["uid"]}
    board = json.loads((OBSERVABILITY / "dashboards/manga-tools.json").read_text("utf-8"))
    targets = [target for panel in board["panels"] for target in panel["targets"]]
    assert {"_bucket" in target["expr"] for target in targets if target.get("exemplar")} == {True}
    assert all(target.get("exemplar") for target in targets if "_bucket" in target["expr"])
