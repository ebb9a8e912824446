"""What `docker compose up` and the Dockerfiles say is so: checked by Compose itself, by hadolint, and against the code."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.agent.options import parser as agent_parser
from infra.seed.__main__ import _parser as seed_parser
from server.call import Call, RequestMetadata
from server.config.settings import ROOT, Settings
from server.config.unknown import unknown_settings
from server.telemetry.events import CallFinished
from server.telemetry.metrics import Metrics
from server.transport.http.origins import AllowedOrigins
from session.redis.address import RedisAddress
from session.resilience.breaker import BreakerState
from session.resilience.deadline import Deadline
from tests.stack import artefacts
from tests.stack.require import require
from tests.support.pipeline import registered
from tools.store.backends.dynamodb.address import DynamoAddress
from tools.store.backends.opensearch.address import OpenSearchAddress

OURS = ("server", "seed")
ONE_SHOT = ("seed", "agent")
COMPOSE = (ROOT / "docker-compose.yml").read_text("utf-8")
DOCKERFILES = ("Dockerfile", "infra/agent/Dockerfile")
OBSERVABILITY = ROOT / "infra/observability"
DEFAULTS = Settings()


def tool(name: str) -> str:
    """A program that a wheel of the test requirements brought along."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    require(name, None if found else "it is not installed with requirements-dev.lock")
    assert found is not None
    return found


@cache
def composed(**environment: str) -> dict[str, Any]:
    """Every service, as Compose understands the file, in an environment without settings."""
    clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | environment
    profiles = ("--profile", "observability", "--profile", "agent")
    # An .env of whoever runs this is none of the test's affair.
    command = [tool("docker-compose"), "--env-file", os.devnull, *profiles, "config", "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)["services"]  # type: ignore[no-any-return]


def instructions(dockerfile: str, kind: str) -> list[str]:
    """What follows an instruction, line by line, continuations joined."""
    text = (ROOT / dockerfile).read_text("utf-8").replace("\\\n", " ")
    return [line.removeprefix(f"{kind} ").strip() for line in text.splitlines() if line.startswith(f"{kind} ")]


def manga(environment: dict[str, str | None]) -> dict[str, str]:
    return {name: value or "" for name, value in environment.items() if name.startswith("MANGA_")}


def image_environment() -> dict[str, str]:
    """The ENV of the server's image."""
    return dict(re.findall(r"(\w+)=(\S+)", " ".join(instructions("Dockerfile", "ENV"))))


def test_compose_takes_the_file_with_every_profile() -> None:
    assert set(composed()) >= {"server", "seed", "opensearch", "dynamodb", "valkey", "agent", "prometheus", "grafana"}
    without = [name for name, service in composed().items() if not service.get("profiles")]
    assert set(without) == {"server", "seed", "opensearch", "dynamodb", "valkey"}


@pytest.mark.parametrize("service", OURS)
def test_the_server_starts_with_these_settings_and_knows_every_one(service: str) -> None:
    """As the server itself reads them, together with those of the image."""
    environment = manga({**image_environment(), **composed()[service]["environment"]})
    assert unknown_settings(environment) == {}
    settings = Settings.from_environment(environment)
    addresses = {
        "opensearch": OpenSearchAddress.parse(settings.catalog_url).port,
        "dynamodb": int((DynamoAddress.parse(settings.store_url).endpoint or "").rpartition(":")[2]),
        "valkey": RedisAddress.parse(settings.redis_url).port,
    }
    assert addresses == {"opensearch": 9200, "dynamodb": 8000, "valkey": 6379}
    for name in addresses:
        assert f"//{name}:" in f"{settings.catalog_url} {settings.store_url} {settings.redis_url}"
        assert f"{addresses[name]}" in " ".join(composed()[name]["healthcheck"]["test"]) or name == "valkey"


def test_the_server_and_the_seed_mean_the_same_backends() -> None:
    """The same image and addresses, and the same embedder, or the index would not fit."""
    server, seed = (composed(MANGA_EMBEDDER="none")[name] for name in OURS)
    assert server["image"] == seed["image"]
    for name, value in seed["environment"].items():
        assert server["environment"][name] == value, name


def test_what_can_be_changed_from_outside_has_the_servers_own_defaults() -> None:
    """`${MANGA_…:-default}`; the port's is where README and make expect the server."""
    for name, default in re.findall(r"\$\{(MANGA_\w+):-([^}]*)\}", COMPOSE):
        assert hasattr(DEFAULTS, name.removeprefix("MANGA_").lower()), name
        if default:
            assert Settings.from_environment({name: default}) == DEFAULTS, name


FIXED = {"catalog_url", "store_url", "redis_url", "host", "allowed_hosts", "allow_insecure"}
OF_FILES = {"catalog_file", "flags_url", "data_dir", "auth_tokens_file", "audit_log", "audit"}


def test_every_setting_reaches_the_server_but_those_that_are_fixed_or_name_a_file() -> None:
    """From the environment, or from .env. A customer is stated to stdio alone."""
    passed = {name.removeprefix("MANGA_").lower() for name in re.findall(r"\$\{(MANGA_\w+)", COMPOSE)}
    assert {each.name for each in fields(Settings)} - passed == FIXED | OF_FILES | {"user"}


def test_every_name_of_a_setting_in_the_dockerfiles_is_one() -> None:
    for dockerfile in DOCKERFILES:
        named = re.findall(r"\b(MANGA_[A-Z_]*[A-Z])\b", (ROOT / dockerfile).read_text("utf-8"))
        assert unknown_settings(dict.fromkeys(named, "x")) == {}


def test_nothing_is_published_beyond_this_machine() -> None:
    """Every port is bound to the loopback by name; nothing shares the network of the host."""
    published = [(name, port) for name, service in composed().items() for port in service.get("ports", [])]
    assert {name for name, _ in published} == {"server", "prometheus", "grafana"}
    assert {port["host_ip"] for _, port in published} == {"127.0.0.1"}
    assert not any("network_mode" in service or service.get("privileged") for service in composed().values())


def test_the_ports_are_those_that_are_listened_on() -> None:
    """In the image, in its container, and on the host."""
    (port,) = composed()["server"]["ports"]
    assert port["published"] == str(DEFAULTS.port)
    listened = composed()["server"]["environment"]["MANGA_PORT"]
    assert str(port["target"]) == listened == image_environment()["MANGA_PORT"] == instructions("Dockerfile", "EXPOSE")[0]
    assert composed(MANGA_PORT="9000")["server"]["ports"][0]["published"] == "9000"
    assert composed(MANGA_PORT="9000")["server"]["environment"]["MANGA_PORT"] == listened


def test_whoever_calls_the_server_by_name_is_let_in() -> None:
    """The agent and Prometheus from inside, everybody else of this machine from outside, and no other name."""
    settings = Settings.from_environment(manga(composed()["server"]["environment"]))
    allowed = AllowedOrigins(settings.host, settings.port, settings.allowed_hosts)
    (target,) = re.findall(r'targets: \["([^"]+)"\]', (OBSERVABILITY / "prometheus.yml").read_text("utf-8"))
    agent = agent_parser().parse_args(composed()["agent"]["command"]).url
    for host in (target, agent.split("/")[2], "127.0.0.1:8080", "localhost:9000"):
        assert allowed.host(host), host
    assert not allowed.host("evil.example:8080")


def test_every_service_that_stays_has_a_health_check_and_the_servers_is_its_own() -> None:
    services = composed()
    for name, service in services.items():
        check = service.get("healthcheck", {})
        assert bool(check.get("disable")) is (name in ONE_SHOT), name
        assert name in ONE_SHOT or {"test", "interval", "timeout", "retries"} <= check.keys(), name
        assert service["restart"] == ("no" if name in ONE_SHOT else "unless-stopped"), name
    command = [sys.executable, "-m", "server.commands.healthcheck"]
    assert services["server"]["healthcheck"]["test"] == ["CMD", "python", *command[1:]]
    stated = instructions("Dockerfile", "HEALTHCHECK")[0]
    assert stated.endswith('CMD ["python", "-m", "server.commands.healthcheck"]')
    for port in ("9", "http", "99999"):
        environment = {"PATH": os.environ["PATH"], "MANGA_PORT": port}
        done = subprocess.run(command, cwd=ROOT, env=environment, timeout=30, check=False, capture_output=True)
        assert (done.returncode, done.stderr) == (1, b""), port


def test_everybody_waits_for_what_they_need() -> None:
    """So that `up --wait` returns when a call can be answered, with a catalogue to search."""
    waits = {
        name: {on: of["condition"] for on, of in service.get("depends_on", {}).items()}
        for name, service in composed().items()
    }
    assert waits["server"] == {"seed": "service_completed_successfully", "valkey": "service_healthy"}
    assert waits["seed"] == {"opensearch": "service_healthy", "dynamodb": "service_healthy"}
    for name in ("agent", "prometheus"):
        assert waits[name] == {"server": "service_healthy"}


def test_the_commands_are_ones_that_the_programs_take() -> None:
    seed = composed()["seed"]
    assert seed["entrypoint"] == ["python", "-m", "infra.seed"]
    seed_parser().parse_args(seed["command"] or [])
    assert instructions("Dockerfile", "ENTRYPOINT") == ['["python", "-m", "server"]']
    assert instructions("infra/agent/Dockerfile", "ENTRYPOINT") == ['["python", "-m", "infra.agent.agent"]']


def test_nobody_has_more_than_they_need() -> None:
    """A root that cannot be written, no capabilities, no new privileges, and an end to what they may use."""
    for name, service in composed().items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service.get("read_only", False) is (name != "opensearch"), name
        limits = service["deploy"]["resources"]["limits"]
        assert {"cpus", "memory", "pids"} <= limits.keys(), name
    assert [each.partition(":")[0] for each in composed()["server"]["tmpfs"]] == ["/tmp"]
    for dockerfile in DOCKERFILES:
        assert instructions(dockerfile, "USER") == ["10001"]


def test_the_server_is_given_the_time_to_end_a_turn() -> None:
    grace = re.fullmatch(r"(\d+)s", composed()["server"]["stop_grace_period"])
    assert grace is not None
    assert int(grace[1]) * 1000 > DEFAULTS.turn_budget_ms + 2000


def test_every_image_has_a_pinned_tag() -> None:
    """A version of three numbers, and ours that of the project."""
    version = re.search(r'^version = "([^"]+)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert version is not None
    for name, service in composed().items():
        tag = service["image"].rpartition(":")[2]
        assert re.match(r"v?\d+\.\d+\.\d+(-alpine)?$", tag), name
        assert "build" not in service or tag == version[1], name
    bases = {base for dockerfile in DOCKERFILES for base in instructions(dockerfile, "ARG")}
    (base,) = bases
    assert re.fullmatch(r"PYTHON_IMAGE=docker\.io/library/python:3\.\d+-slim", base)


def test_the_backends_are_the_versions_that_the_tests_run() -> None:
    """OpenSearch and DynamoDB Local."""
    tested = {(each.name, each.version) for of in ("opensearch-3.6.0", "dynamodb-local") for each in artefacts.listed(of)}
    assert ("opensearch", composed()["opensearch"]["image"].rpartition(":")[2]) in tested
    assert ("DynamoDBLocal", composed()["dynamodb"]["image"].rpartition(":")[2]) in tested


def _within(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def test_what_is_mounted_and_copied_is_there() -> None:
    """And .dockerignore lets it through, and nothing of the tests."""
    for name, service in composed().items():
        for volume in service.get("volumes", []):
            assert Path(volume["source"]).exists(), name
            assert volume["read_only"], name
    for dockerfile, ignored in (("Dockerfile", ".dockerignore"), (DOCKERFILES[1], "infra/agent/Dockerfile.dockerignore")):
        through = [line[1:] for line in (ROOT / ignored).read_text("utf-8").splitlines() if line.startswith("!")]
        for line in instructions(dockerfile, "COPY"):
            for source in line.split()[:-1] if "--from" not in line else []:
                assert (ROOT / source).exists(), source
                assert any(fnmatch(source, each) or _within(source, each) or _within(each, source) for each in through), (
                    source
                )
        assert not any(each.startswith(("tests", ".git", ".env")) for each in through)


@pytest.mark.parametrize("dockerfile", DOCKERFILES)
def test_hadolint_has_nothing_to_say(dockerfile: str) -> None:
    command = [tool("hadolint"), "--no-color", str(ROOT / dockerfile)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


# -- observability


def named(expression: str) -> set[str]:
    return set(re.findall(r"\b(?:manga|process)_\w+", expression))


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((OBSERVABILITY / "alerts.yml").read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"] if rule["alert"] != "MangaDown"]


def exported() -> dict[str, dict[str, str]]:
    """The server's metrics with the labels of each, after a call that went well."""
    metrics = Metrics()
    metrics(CallFinished("c", "lookup_order", "ok", "live", None, 3.0, 2800, ("stock",), "sse", "u", None, {}, empty=True))
    metrics.breaker_changed("catalog", BreakerState.OPEN)
    metrics.refused("http_401")
    metrics.background_died("flags")
    metrics.profile_event("written")
    metrics.watch_lines(lambda: 0, lambda: 0)
    metrics.answer_sent(Call("c", registered("lookup_order"), {}, RequestMetadata(), 0.0, deadline=Deadline.after(-1)))
    samples = [sample for family in metrics.registry.collect() for sample in family.samples]
    return {sample.name: dict(sample.labels) for sample in samples}


def test_the_dashboard_asks_for_metrics_and_labels_that_the_server_has() -> None:
    board = json.loads((OBSERVABILITY / "dashboards/manga-tools.json").read_text("utf-8"))
    known, asked = exported(), set()
    for panel in board["panels"]:
        assert panel["targets"], panel["title"]
        for target in panel["targets"]:
            (name,) = named(target["expr"])
            assert name in known, name
            labels = {each.strip() for by in re.findall(r"by \(([^)]+)\)", target["expr"]) for each in by.split(",")}
            labels |= set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert labels <= known[name].keys(), target["expr"]
            chosen = dict(re.findall(r'(\w+)!?="([^"]*)"', target["expr"]))
            assert chosen.items() <= known[name].items(), target["expr"]
            asked.add(name)
    shown = {re.sub(r"_(total|bucket|count|sum|created)$", "", name) for name in asked}
    ours = {re.sub(r"_(total|bucket|count|sum|created)$", "", name) for name in known if name.startswith("manga_")}
    assert ours <= shown, "a metric nobody looks at"


def test_the_rules_ask_for_metrics_and_labels_that_the_server_has() -> None:
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


def test_every_rule_says_what_is_wrong_and_what_to_do() -> None:
    found = rules()
    assert len({rule["alert"] for rule in found}) == len(found) > 10
    for rule in found:
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert set(rule["annotations"]) == {"summary", "do"}
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"\d+m", rule.get("for", "0m"))
        assert rule["expr"].count("(") == rule["expr"].count(")")


def test_prometheus_reads_the_rules() -> None:
    (where,) = yaml.safe_load((OBSERVABILITY / "prometheus.yml").read_text("utf-8"))["rule_files"]
    mounted = {volume["target"]: Path(volume["source"]) for volume in composed()["prometheus"]["volumes"]}
    assert mounted[where] == OBSERVABILITY / "alerts.yml"


def test_promtool_takes_the_rules_and_they_fire_as_they_say(tmp_path: Path) -> None:
    """Where Prometheus is installed."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (Debian: apt-get install prometheus)")
    for each in (OBSERVABILITY / "alerts.yml", Path(__file__).with_name("alerts.test.yml")):
        shutil.copy(each, tmp_path)
    for command in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts.test.yml"]):
        done = subprocess.run([promtool, *command], capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr


def test_both_sides_of_a_division_have_the_labels_that_are_matched() -> None:
    """Prometheus divides what has equal labels, and says nothing where nothing has: the rule never fires."""
    divisions = [rule for rule in rules() if " / " in " ".join(rule["expr"].split())]
    assert len(divisions) > 3
    for rule in divisions:
        left, right = " ".join(rule["expr"].split()).split(" / ")
        ignored = re.search(r"ignoring \(([^)]+)\)", right)
        assert _labels(left) == _labels(right) | ({ignored[1]} if ignored else set()), rule["alert"]


def _labels(side: str) -> set[str]:
    """Those that a sum keeps; what is not summed keeps all."""
    summed = re.search(r"sum(?: by \(([^)]+)\))? ?\(", side)
    return set((summed[1] or "").split(", ")) - {""} if summed else {"all of its own"}


def test_a_backend_that_is_being_probed_is_lost_all_the_same() -> None:
    (rule,) = (rule for rule in rules() if rule["alert"] == "MangaBackendLost")
    comparison = re.fullmatch(r"manga_breaker_state > (\d)", rule["expr"])
    assert comparison is not None
    metrics = Metrics()
    for state, lost in ((BreakerState.CLOSED, False), (BreakerState.HALF_OPEN, True), (BreakerState.OPEN, True)):
        metrics.breaker_changed("catalog", state)
        value = metrics.registry.get_sample_value("manga_breaker_state", {"backend": "catalog"})
        assert value is not None
        assert (value > int(comparison[1])) is lost


def test_the_dashboard_is_where_grafana_looks_and_asks_the_source_that_is_there() -> None:
    grafana = composed()["grafana"]
    mounted = {volume["target"]: Path(volume["source"]) for volume in grafana["volumes"]}
    home = Path(grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    board = json.loads((mounted[str(home.parent)] / home.name).read_text("utf-8"))
    provisioned = (OBSERVABILITY / "provisioning/datasources/prometheus.yml").read_text("utf-8")
    assert f"path: {home.parent}" in (OBSERVABILITY / "provisioning/dashboards/files.yml").read_text("utf-8")
    (uid,) = {panel["datasource"]["uid"] for panel in board["panels"]}
    assert f"uid: {uid}\n" in provisioned
    assert f"url: http://prometheus:{composed()['prometheus']['ports'][0]['target']}\n" in provisioned
