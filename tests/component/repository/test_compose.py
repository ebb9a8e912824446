"""The Compose file and the Dockerfiles are checked by Compose, by hadolint and against the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from infra.agent.options import parser as agent_parser
from infra.agent.options import patience_ms
from infra.door.__main__ import Setup
from infra.door.api import AGENT_PORT
from infra.door.gateway import AUDIENCE, ISSUER
from infra.seed.__main__ import _parser as seed_parser
from infra.seed.__main__ import main as seed_main
from server.config.settings import DECLARED, DEMO, ROOT, Settings, unknown_settings
from server.transport.http.middleware import AllowedOrigins
from session.redis.address import RedisAddress
from tests.second_shop.test_second_shop import SETTINGS
from tests.stack import artefacts
from tests.support.cases import cases
from tests.support.compose import OBSERVABILITY, composed, composed_networks, tool
from tools.store.backends.dynamodb.tables import DynamoAddress
from tools.store.backends.opensearch.address import OpenSearchAddress

OURS = ("server", "seed")
ONE_SHOT = ("seed", "agent")
UNASKED = (*ONE_SHOT, "collector")
"""The Collector's image holds one program, which asks nobody for its health."""
COMPOSE = (ROOT / "docker-compose.yml").read_text("utf-8")
SERVICE = (ROOT / "infra/agent/service.py").read_text("utf-8")
DOCKERFILES = ("Dockerfile", "infra/agent/Dockerfile")
DEFAULTS = Settings()


def instructions(dockerfile: str, kind: str) -> list[str]:
    """What follows an instruction, line by line, continuations joined."""
    text = (ROOT / dockerfile).read_text("utf-8").replace("\\\n", " ")
    return [line.removeprefix(f"{kind} ").strip() for line in text.splitlines() if line.startswith(f"{kind} ")]


def manga(environment: dict[str, str | None], **stated: str) -> dict[str, str]:
    """A file that is mounted is where it is on this machine."""
    mounted = {each["target"]: each["source"] for each in composed(**stated)["server"]["volumes"]}
    return {name: mounted.get(value, value or "") for name, value in environment.items() if name.startswith("MANGA_")}


def image_environment() -> dict[str, str]:
    """The ENV of the server's image."""
    return dict(re.findall(r"(\w+)=(\S+)", " ".join(instructions("Dockerfile", "ENV"))))


def test_agent_may_start_all_of_its_threads() -> None:
    """Its worker threads, and some of the libraries; the tests have no Strands to import the numbers with."""
    turns, others = re.findall(r"^(?:MOST_TURNS =|THREADS = MOST_TURNS \+) (\d+)$", SERVICE, re.MULTILINE)
    assert composed()["chat"]["deploy"]["resources"]["limits"]["pids"] >= int(turns) + int(others) + 30


def test_compose_file_is_valid_with_every_profile() -> None:
    assert set(composed()) >= {
        "server",
        "seed",
        "opensearch",
        "dynamodb",
        "valkey",
        "agent",
        "chat",
        "gateway",
        "prometheus",
        "grafana",
        "collector",
        "zipkin",
    }
    without = [name for name, service in composed().items() if not service.get("profiles")]
    assert set(without) == {"server", "seed", "opensearch", "dynamodb", "valkey"}


@cases("service", OURS)
def test_settings_of_each_compose_service_are_known_and_reach_the_backends(service: str) -> None:
    """The server's own parser reads them, together with those of the image."""
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


def test_server_and_seed_have_the_same_image_and_backend_settings() -> None:
    """With another embedder the index would not fit."""
    server, seed = (composed(MANGA_EMBEDDER="none")[name] for name in OURS)
    assert server["image"] == seed["image"]
    for name, value in seed["environment"].items():
        assert server["environment"][name] == value, name


def test_defaults_in_the_compose_file_are_those_of_the_server() -> None:
    """`${MANGA_…:-default}`, but for what is mounted; the port's is where README and make expect the server."""
    for name, default in re.findall(r"(?<!source: \")\$\{(MANGA_\w+):-([^}]*)\}", COMPOSE):
        assert hasattr(DEFAULTS, name.removeprefix("MANGA_").lower()), name
        if default:
            assert Settings.from_environment({name: default}) == DEFAULTS, name


FIXED = {"catalog_url", "store_url", "redis_url", "host", "allowed_hosts", "allow_insecure"}
OF_FILES = {"auth_tokens_file", "audit_log", "audit"}
OF_THE_SERVER = ("MANGA_POLICIES_FILE", "MANGA_SHOP_NAME", "MANGA_COVER_HOSTS")
OWN_SHOP = {name: value.removeprefix(f"{ROOT}/") for name, value in SETTINGS.items() if not name.endswith("_URL")}


@pytest.mark.parametrize("service", OURS)
def test_an_own_shop_reaches_server_and_seed(service: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Its files are mounted, and what each is told reads every line of them."""
    container = composed(**OWN_SHOP)[service]
    told = {name: value for name, value in manga(container["environment"], **OWN_SHOP).items() if name in OWN_SHOP}
    assert told == {name: SETTINGS[name] for name in OWN_SHOP if service == "server" or name not in OF_THE_SERVER}
    assert container["volumes"] == composed(**OWN_SHOP)["seed"]["volumes"]
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert seed_main(["--dry-run"]) == 0
    assert "400 titles, 2,028 volumes, 6 orders: every line can be used" in capsys.readouterr().out


@cases(
    ("stated", "policies"),
    [
        ((), DEMO / "policies.md"),
        (("CATALOG",), None),
        (("CATALOG", "POLICIES"), SETTINGS["MANGA_POLICIES_FILE"]),
        (("POLICIES",), SETTINGS["MANGA_POLICIES_FILE"]),
    ],
)
def test_policies_of_the_demo_are_told_with_its_catalogue_alone(stated: Sequence[str], policies: Path | str | None) -> None:
    own = {name: OWN_SHOP[name] for name in (f"MANGA_{each}_FILE" for each in stated)}
    told = manga(composed(**own)["server"]["environment"], **own).get("MANGA_POLICIES_FILE")
    assert told == (policies and str(policies))


def test_chat_service_listens_where_the_gateway_asks_and_has_time_to_drain() -> None:
    chat, gateway = composed()["chat"], composed()["gateway"]
    asked = agent_parser().parse_args(chat["command"])
    assert (asked.serve, asked.host) == (True, "0.0.0.0")
    door = Setup.read(gateway["environment"])
    assert door.agent == f"http://chat:{asked.port}"
    assert asked.port == AGENT_PORT == int(instructions("infra/agent/Dockerfile", "EXPOSE")[0])
    assert "ports" not in chat, "only the door leads there"
    assert chat["healthcheck"]["test"] == ["CMD", "python", "-m", "infra.agent.healthcheck"]
    assert int(chat["stop_grace_period"].removesuffix("s")) * 1000 > patience_ms(asked) + 1000
    assert not agent_parser().parse_args(composed()["agent"]["command"]).serve


def test_gateway_and_agent_share_a_secret_and_only_their_own_network() -> None:
    services = composed()
    own, door = services["chat"]["environment"], Setup.read(services["gateway"]["environment"])
    assert own["AGENT_DOOR_SECRET"] == door.secret == services["gateway"]["environment"]["GATEWAY_SECRET"]
    assert own["AGENT_CALLBACK_URL"] == f"http://gateway:{door.inner_port}"
    assert own["AGENT_JWT_JWKS_URL"] == f"http://gateway:{door.inner_port}/jwks.json"
    assert (own["AGENT_JWT_ISSUER"], own["AGENT_JWT_AUDIENCE"]) == (ISSUER, AUDIENCE)
    assert services["gateway"]["image"] == services["server"]["image"]
    assert [each["target"] for each in services["gateway"]["ports"]] == [door.port], "the agent's way is not published"
    assert {name for name, each in services.items() if "door" in each["networks"]} == {"chat", "gateway"}
    assert composed_networks()["door"]["internal"] is True
    assert not {"calls", "backends"} & services["gateway"]["networks"].keys()
    assert (
        composed(DOOR_SECRET="another-secret-of-mine")["chat"]["environment"]["AGENT_DOOR_SECRET"]
        == "another-secret-of-mine"
    )


def test_every_setting_is_passed_through_compose_except_the_fixed_ones() -> None:
    """Its value comes from the environment or from .env."""
    passed = {name.removeprefix("MANGA_").lower() for name in re.findall(r"\$\{(MANGA_\w+)", COMPOSE)}
    assert {name.removeprefix("MANGA_").lower() for name in DECLARED} - passed == FIXED | OF_FILES


def test_settings_named_in_dockerfiles_exist() -> None:
    for dockerfile in DOCKERFILES:
        named = re.findall(r"\b(MANGA_[A-Z_]*[A-Z])\b", (ROOT / dockerfile).read_text("utf-8"))
        assert unknown_settings(dict.fromkeys(named, "x")) == {}


def test_ports_are_published_on_loopback_only() -> None:
    """Every port is bound to loopback by its address; no service shares the host's network."""
    published = [(name, port) for name, service in composed().items() for port in service.get("ports", [])]
    assert {name for name, _ in published} == {"server", "gateway", "prometheus", "grafana", "zipkin"}
    assert {port["host_ip"] for _, port in published} == {"127.0.0.1"}
    assert not any("network_mode" in service or service.get("privileged") for service in composed().values())


def test_backend_network_is_internal_and_shared_by_server_and_seed_only() -> None:
    """The backends' network has no way out and no agent on it; services of one network can connect."""
    networks = {name: set(service["networks"]) for name, service in composed().items()}
    assert {name for name, on in networks.items() if "backends" in on} == {*OURS, "opensearch", "dynamodb", "valkey"}
    assert {each["internal"] for name, each in composed_networks().items() if name in ("backends", "spans")} == {True}
    for name, others in (("agent", ("server", "collector")), ("chat", ("server", "collector"))):
        assert all(networks[name] & networks[other] for other in others)
    for name, other in (
        ("prometheus", "server"),
        ("grafana", "prometheus"),
        ("collector", "zipkin"),
        ("server", "collector"),
    ):
        assert networks[name] & networks[other], name


def test_dynamodb_data_is_kept_in_a_volume() -> None:
    dynamodb = composed()["dynamodb"]
    (kept,) = dynamodb["volumes"]
    assert (kept["type"], kept["target"]) == ("volume", dynamodb["command"][dynamodb["command"].index("-dbPath") + 1])
    assert "-inMemory" not in dynamodb["command"]


def test_published_exposed_and_listened_ports_agree() -> None:
    """The ports in the image, in its container and on the host are compared."""
    (port,) = composed()["server"]["ports"]
    assert port["published"] == str(DEFAULTS.port)
    listened = composed()["server"]["environment"]["MANGA_PORT"]
    assert str(port["target"]) == listened == image_environment()["MANGA_PORT"] == instructions("Dockerfile", "EXPOSE")[0]
    assert composed(MANGA_PORT="9000")["server"]["ports"][0]["published"] == "9000"
    assert composed(MANGA_PORT="9000")["server"]["environment"]["MANGA_PORT"] == listened


def test_host_names_of_agent_and_prometheus_are_allowed() -> None:
    """The agent and Prometheus connect from inside, other callers of this machine from outside; no other name is."""
    settings = Settings.from_environment(manga(composed()["server"]["environment"]))
    allowed = AllowedOrigins(settings.host, settings.port, settings.allowed_hosts)
    (target,) = re.findall(r'targets: \["([^"]+)"\]', (OBSERVABILITY / "prometheus.yml").read_text("utf-8"))
    agents = [agent_parser().parse_args(composed()[name]["command"]).url.split("/")[2] for name in ("agent", "chat")]
    for host in (target, *agents, "127.0.0.1:8080", "localhost:9000"):
        assert allowed.host(host), host
    assert not allowed.host("evil.example:8080")


def test_every_lasting_service_has_a_health_check_that_fails_when_it_is_down() -> None:
    services = composed()
    for name, service in services.items():
        check = service.get("healthcheck", {})
        assert bool(check.get("disable")) is (name in UNASKED), name
        assert name in UNASKED or {"test", "interval", "timeout", "retries"} <= check.keys(), name
        assert service["restart"] == ("no" if name in ONE_SHOT else "unless-stopped"), name
    command = [sys.executable, "-m", "server.commands.healthcheck"]
    assert services["server"]["healthcheck"]["test"] == ["CMD", "python", *command[1:]]
    stated = instructions("Dockerfile", "HEALTHCHECK")[0]
    assert stated.endswith('CMD ["python", "-m", "server.commands.healthcheck"]')
    for port in ("9", "http", "99999"):
        environment = {"PATH": os.environ["PATH"], "MANGA_PORT": port}
        done = subprocess.run(command, cwd=ROOT, env=environment, timeout=30, check=False, capture_output=True)
        assert (done.returncode, done.stderr) == (1, b""), port


def test_services_wait_for_the_health_of_those_they_need() -> None:
    """So `up --wait` returns when calls can be answered and the catalogue is loaded."""
    waits = {
        name: {on: of["condition"] for on, of in service.get("depends_on", {}).items()}
        for name, service in composed().items()
    }
    assert waits["server"] == {"seed": "service_completed_successfully", "valkey": "service_healthy"}
    assert waits["seed"] == dict.fromkeys(("opensearch", "dynamodb", "valkey"), "service_healthy")
    for name in ("agent", "chat", "prometheus"):
        assert waits[name] == {"server": "service_healthy"}
    assert waits["gateway"] == {"chat": "service_healthy"}


def test_commands_of_compose_and_dockerfiles_are_parsed_by_their_programs() -> None:
    seed = composed()["seed"]
    assert seed["entrypoint"] == ["python", "-m", "infra.seed"]
    seed_parser().parse_args(seed["command"] or [])
    assert instructions("Dockerfile", "ENTRYPOINT") == ['["python", "-m", "server"]']
    assert instructions("infra/agent/Dockerfile", "ENTRYPOINT") == ['["python", "-m", "infra.agent.agent"]']


def test_containers_run_unprivileged_read_only_and_with_limits() -> None:
    """Each has a read-only root, no capabilities, no new privileges, and limits on its resources."""
    for name, service in composed().items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service.get("read_only", False) is (name != "opensearch"), name
        limits = service["deploy"]["resources"]["limits"]
        assert {"cpus", "memory", "pids"} <= limits.keys(), name
    assert [each.partition(":")[0] for each in composed()["server"]["tmpfs"]] == ["/tmp"]
    for dockerfile in DOCKERFILES:
        assert instructions(dockerfile, "USER") == ["10001"]
        # On Fargate /tmp is root's own unless the image declares it.
        assert '"/tmp"' in instructions(dockerfile, "VOLUME")[0]


def test_stop_grace_period_exceeds_the_turn_budget() -> None:
    grace = re.fullmatch(r"(\d+)s", composed()["server"]["stop_grace_period"])
    assert grace is not None
    assert int(grace[1]) * 1000 > DEFAULTS.turn_budget_ms + 2000


def test_every_image_has_a_pinned_tag() -> None:
    """A tag is a version of three numbers; our images have the project's version."""
    version = re.search(r'^version = "([^"]+)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert version is not None
    for name, service in composed().items():
        tag = service["image"].rpartition(":")[2]
        assert re.match(r"v?\d+\.\d+\.\d+(-alpine)?$", tag), name
        assert "build" not in service or tag == version[1], name
    bases = {base for dockerfile in DOCKERFILES for base in instructions(dockerfile, "ARG")}
    (base,) = bases
    assert re.fullmatch(r"PYTHON_IMAGE=docker\.io/library/python:3\.\d+-slim", base)


def test_backend_images_have_the_versions_that_the_tests_run() -> None:
    """OpenSearch, DynamoDB Local and the trace viewer are compared."""
    sets = ("opensearch-3.6.0", "dynamodb-local", "zipkin")
    tested = {(each.name, each.version) for of in sets for each in artefacts.listed(of)}
    assert ("opensearch", composed()["opensearch"]["image"].rpartition(":")[2]) in tested
    assert ("zipkin-server", composed()["zipkin"]["image"].rpartition(":")[2]) in tested
    assert ("DynamoDBLocal", composed()["dynamodb"]["image"].rpartition(":")[2]) in tested


def _within(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def test_mounted_and_copied_files_exist_and_no_test_is_copied() -> None:
    """.dockerignore admits the copied files and none of the tests."""
    for name, service in composed().items():
        for volume in service.get("volumes", []):
            if volume["type"] == "bind":
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


@cases("dockerfile", DOCKERFILES)
def test_hadolint_finds_nothing(dockerfile: str) -> None:
    command = [tool("hadolint"), "--no-color", str(ROOT / dockerfile)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
