"""What a stand-in of AWS can create of the templates is created from them, filled by the seed, and served by the server with
the settings of its task definition."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from infra.alarms.alarm import RUNBOOKS
from infra.cdk.stages import STAGES
from infra.seed.store import describe_tables
from server.config.settings import DEMO, ROOT
from tests.stack.seeding import wait_until
from tests.support.cloudformation import Templates
from tests.support.moto import KEYS, UNKNOWN, client, created, moto
from tests.support.raw import call, post_2026
from tests.support.serving import served
from tests.support.stack import seeded
from tools.store.backends.dynamodb.tables import TABLES, DynamoAddress

SERVER = "manga-tools"
ELSEWHERE = {
    "MANGA_CATALOG_URL": "embedded:",
    "MANGA_REDIS_URL": "embedded:",
    "MANGA_EMBEDDER": "none",
    "MANGA_STANDBY": "off",
}
"""What moto has no place of: OpenSearch, ElastiCache and Bedrock are what is embedded, and without OpenSearch there is nothing
that a standby would stand by."""
NOT_THERE = (
    "MANGA_FLAGS_URL", "MANGA_STANDBY_URL", "AWS_CONFIG_FILE", "AWS_PROFILE",
    "MANGA_HOST", "MANGA_AUTH", "MANGA_ALLOWED_HOSTS", "MANGA_TRUSTED_PROXIES",
)  # fmt: skip
"""AppConfig's agent, the profiles that another container of the task writes, and the balancer."""
CUSTOMER = {"com.mangaassist/userId": "demo-user-1"}
ORDER = "MNG-DEMO1001"
ATTEMPTS = 20
AUDIT_SECONDS = 30


@dataclass(frozen=True)
class Cloud:
    stage: str
    endpoint: str
    templates: Templates
    table_prefix: str
    left_out: set[str]

    def container(self, called: str) -> dict[str, Any]:
        (found,) = [
            container
            for _, task in self.templates.of("AWS::ECS::TaskDefinition")
            for container in task["ContainerDefinitions"]
            if container["Name"] == called
        ]
        return dict(found)

    def environment(self, audit: Path) -> dict[str, str]:
        """The server's, as its task definition states it, with everything of AWS at moto's endpoint, and the audit's folder."""
        found = {pair["Name"]: str(pair["Value"]) for pair in self.container(SERVER)["Environment"]}
        found["MANGA_AUDIT_LOG"] = found["MANGA_AUDIT_LOG"].replace("/audit", str(audit))
        assert found.keys() >= ELSEWHERE.keys(), "nothing is replaced that is not stated"
        stated = {name: value for name, value in found.items() if name not in NOT_THERE}
        keys = {name.upper(): value for name, value in KEYS.items()}
        return {**stated, **ELSEWHERE, **keys, "AWS_ENDPOINT_URL": self.endpoint, "AWS_EC2_METADATA_DISABLED": "true"}


@pytest.fixture(scope="module", params=sorted(STAGES))
def cloud(request: pytest.FixtureRequest, synthesised: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    stage = STAGES[request.param]
    with moto(tmp_path_factory.mktemp("moto")) as endpoint:
        file = synthesised / stage.name / f"{stage.prefix}-foundation.template.json"
        left_out = created(json.loads(file.read_text("utf-8")), endpoint, stage.region, "foundation")
        templates = Templates.read(synthesised / stage.name, stage.region)
        yield Cloud(stage.name, endpoint, templates, stage.table_prefix, left_out)


def test_what_moto_does_not_know_is_all_that_is_left_out(cloud: Cloud) -> None:
    """And what refers to it: roles that may ask the collection, the policy of a bucket's or a topic's access."""
    with_reference = {"AWS::IAM::Role", "AWS::IAM::Policy", "AWS::EC2::SecurityGroupIngress"}
    assert {kind for kind in cloud.left_out if not kind.startswith(UNKNOWN)} <= with_reference


def test_the_tables_are_as_they_are_defined(cloud: Cloud) -> None:
    """By the doctor's own comparison, and by what it does not compare. What moto
    makes nothing of, such as encryption, is asserted of the template elsewhere."""
    region = cloud.templates.region
    address = DynamoAddress.parse(f"dynamodb://{region}?endpoint={cloud.endpoint}&table_prefix={cloud.table_prefix}")
    assert describe_tables(address) == {table.full_name(address.prefix): None for table in TABLES}
    driver = client("dynamodb", cloud.endpoint, region)
    for table in TABLES:
        told = driver.describe_table(TableName=table.full_name(address.prefix))["Table"]
        assert told["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
        assert told["DeletionProtectionEnabled"] == (cloud.stage == "prod")


@pytest.mark.slow  # half a minute each
async def test_the_server_runs_against_what_was_created(cloud: Cloud, tmp_path: Path) -> None:
    """The seed fills the tables, which it finds as the template made them; a search has stock from them and an order is told.
    The demo's orders do not come along by themselves, only by name."""
    settings = cloud.environment(tmp_path)
    orders = {"TableName": f"{cloud.table_prefix}orders"}
    driver = client("dynamodb", cloud.endpoint, cloud.templates.region)
    for asked, loaded in ((), False), (("--orders", str(DEMO / "orders.jsonl")), True):
        done = seeded(settings, *asked)
        assert done.returncode == 0, done.stderr
        assert "created" not in done.stdout
        assert bool(driver.scan(**orders)["Count"]) is loaded
    with carried(cloud, tmp_path) as audit, served(tmp_path, tmp_path / "cache", **settings) as server:
        search = await whole(server.port, "search_manga_catalog", lambda number: {"query": "berserk", "max_results": number})
        order = await whole(server.port, "lookup_order", lambda _: {"order_id": ORDER})
        doctor = subprocess.run(
            [sys.executable, "-m", "server", *asked_once(cloud)], cwd=ROOT, env={**os.environ, **settings}, capture_output=True,
            text=True, timeout=AUDIT_SECONDS,
        )  # fmt: skip
        async with asyncio.timeout(AUDIT_SECONDS):
            line = json.loads(await asyncio.to_thread(audit.readline))
    told = dict(re.findall(r"^(\w+) +\S+ +(\w+) ", doctor.stdout, re.MULTILINE))
    # moto makes no TTL from a template, which the doctor sees of the profiles.
    assert {told[name] for name in ("audit", *(table.name for table in TABLES if table.ttl is None))} == {"ok"}, (
        doctor.stdout
    )
    assert search["results"]
    assert ORDER in json.dumps(order)
    assert (line["tool"], line["what"]) == ("lookup_order", {"order_id": ORDER})


def asked_once(cloud: Cloud) -> list[str]:
    """The command that the runbooks have a task run once in the server's container."""
    (override,) = json.loads(re.findall(r"--overrides '(.+)'", (ROOT / RUNBOOKS).read_text("utf-8"))[0])[
        "containerOverrides"
    ]
    assert cloud.container(override["name"])["Name"] == SERVER
    return list(override["command"])


@contextmanager
def carried(cloud: Cloud, folder: Path) -> Iterator[IO[bytes]]:
    """What the audit's container writes to its log, its folder being another."""
    stated = cloud.container("audit")
    command = [part.replace("/audit", str(folder)) for part in (*stated["EntryPoint"], *stated["Command"])]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            wait_until((folder / "orders").is_fifo, "the pipe")
            yield process.stdout
        finally:
            process.kill()


async def whole(port: int, tool: str, arguments: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    """A live answer that lacks nothing. On a busy machine moto is at times slower than the server waits: it is asked again."""
    for number in range(1, ATTEMPTS):
        result = (await post_2026(port, call(tool, arguments(number), CUSTOMER)))["result"]
        told = result["_meta"]["com.mangaassist/call"]
        if (told.get("source"), told.get("degraded")) == ("live", []):
            return dict(result["structuredContent"])
    raise AssertionError(result)
