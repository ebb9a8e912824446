"""What `docker compose up` and the Dockerfiles say is so: checked by Compose itself, by hadolint, and against the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

from infra.agent.options import parser as agent_parser
from infra.agent.options import patience_ms
from infra.door.__main__ import Setup
from infra.door.api import AGENT_PORT
from infra.door.gateway import AUDIENCE, ISSUER
from infra.seed.__main__ import _parser as seed_parser
from server.config.settings import DECLARED, ROOT, Settings, unknown_settings
from server.transport.http.middleware import AllowedOrigins
from session.redis.address import RedisAddress
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
DOCKERFILES = ("Dockerfile", "infra/agent/Dockerfile")
DEFAULTS = Settings()


def instructions(dockerfile: str, kind: str) -> list[str]:
    """What follows an instruction, line by line, continuations joined."""
    text = (ROOT / dockerfile).read_text("utf-8").replace("\\\n", " ")
    return [line.removeprefix(f"{kind} ").strip() for line in text.splitlines() if line.startswith(f"{kind} ")]


def manga(environment: dict[str, str | None]) -> dict[str, str]:
    """A file that is mounted is where it is on this machine."""
    mounted = {each["target"]: each["source"] for each in composed()["server"]["volumes"]}
    return {name: mounted.get(value, value or "") for name, value in environment.items() if name.startswith("MANGA_")}


def image_environment() -> dict[str, str]:
    """The ENV of the server's image."""
    return dict(re.findall(r"(\w+)=(\S+)", " ".join(instructions("Dockerfile", "ENV"))))


def test_compose_takes_the_file_with_every_profile() -> None:
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
    """`${MANGA_…:-default}`, but for what is mounted; the port's is where README and make expect the server."""
    for name, default in re.findall(r"\$\{(MANGA_\w+):-([^}]*)\}(?!:/etc/manga/)", COMPOSE):
        assert hasattr(DEFAULTS, name.removeprefix("MANGA_").lower()), name
        if default:
            assert Settings.from_environment({name: default}) == DEFAULTS, name


FIXED = {"catalog_url", "store_url", "redis_url", "host", "allowed_hosts", "allow_insecure"}
OF_FILES = {
    "catalog_file",
    "orders_file",
    "volumes_file",
    "auth_tokens_file",
    "audit_log",
    "audit",
}


def test_the_agents_service_listens_for_the_door_and_is_asked_for_its_health() -> None:
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


def test_the_door_and_the_agent_know_each_other_and_nobody_else_is_between_them() -> None:
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


def test_every_setting_reaches_the_server_but_those_that_are_fixed_or_name_a_file() -> None:
    """From the environment, or from .env."""
    passed = {name.removeprefix("MANGA_").lower() for name in re.findall(r"\$\{(MANGA_\w+)", COMPOSE)}
    assert {name.removeprefix("MANGA_").lower() for name in DECLARED} - passed == FIXED | OF_FILES


def test_every_name_of_a_setting_in_the_dockerfiles_is_one() -> None:
    for dockerfile in DOCKERFILES:
        named = re.findall(r"\b(MANGA_[A-Z_]*[A-Z])\b", (ROOT / dockerfile).read_text("utf-8"))
        assert unknown_settings(dict.fromkeys(named, "x")) == {}


def test_nothing_is_published_beyond_this_machine() -> None:
    """Every port is bound to the loopback by name; nothing shares the network of the host."""
    published = [(name, port) for name, service in composed().items() for port in service.get("ports", [])]
    assert {name for name, _ in published} == {"server", "gateway", "prometheus", "grafana", "zipkin"}
    assert {port["host_ip"] for _, port in published} == {"127.0.0.1"}
    assert not any("network_mode" in service or service.get("privileged") for service in composed().values())


def test_backends_are_reached_by_the_server_and_the_seed_alone() -> None:
    """Their network has no way out, and no agent is on it; who stands beside each other can speak."""
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


def test_orders_outlive_their_container() -> None:
    dynamodb = composed()["dynamodb"]
    (kept,) = dynamodb["volumes"]
    assert (kept["type"], kept["target"]) == ("volume", dynamodb["command"][dynamodb["command"].index("-dbPath") + 1])
    assert "-inMemory" not in dynamodb["command"]


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
    agents = [agent_parser().parse_args(composed()[name]["command"]).url.split("/")[2] for name in ("agent", "chat")]
    for host in (target, *agents, "127.0.0.1:8080", "localhost:9000"):
        assert allowed.host(host), host
    assert not allowed.host("evil.example:8080")


def test_every_service_that_stays_has_a_health_check_and_the_servers_is_its_own() -> None:
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


def test_everybody_waits_for_what_they_need() -> None:
    """So that `up --wait` returns when a call can be answered, with a catalogue to search."""
    waits = {
        name: {on: of["condition"] for on, of in service.get("depends_on", {}).items()}
        for name, service in composed().items()
    }
    assert waits["server"] == {"seed": "service_completed_successfully", "valkey": "service_healthy"}
    assert waits["seed"] == dict.fromkeys(("opensearch", "dynamodb", "valkey"), "service_healthy")
    for name in ("agent", "chat", "prometheus"):
        assert waits[name] == {"server": "service_healthy"}
    assert waits["gateway"] == {"chat": "service_healthy"}


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
        # On Fargate /tmp is root's own unless the image declares it.
        assert '"/tmp"' in instructions(dockerfile, "VOLUME")[0]


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
    """OpenSearch and DynamoDB Local, and the viewer of traces."""
    sets = ("opensearch-3.6.0", "dynamodb-local", "zipkin")
    tested = {(each.name, each.version) for of in sets for each in artefacts.listed(of)}
    assert ("opensearch", composed()["opensearch"]["image"].rpartition(":")[2]) in tested
    assert ("zipkin-server", composed()["zipkin"]["image"].rpartition(":")[2]) in tested
    assert ("DynamoDBLocal", composed()["dynamodb"]["image"].rpartition(":")[2]) in tested


def _within(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def test_what_is_mounted_and_copied_is_there() -> None:
    """And .dockerignore lets it through, and nothing of the tests."""
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
def test_hadolint_has_nothing_to_say(dockerfile: str) -> None:
    command = [tool("hadolint"), "--no-color", str(ROOT / dockerfile)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
