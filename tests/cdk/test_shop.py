"""What a shop states of its own: its files, its classifier, settings of the server. In the container of whoever reads them, with
the right to what they are read from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.cdk.config import AlertAddresses
from infra.cdk.stages import DEV
from tests.second_shop.test_second_shop import SETTINGS
from tests.support.cdk import Template, containers, environment, errors, read, synthesise_changed
from tests.support.cloudformation import Templates
from tests.support.iam import ALLOWED, Asked, decided
from tests.support.roles import Role, Shop, roles

MODEL = "anthropic.claude-haiku-4-5-20251001-v1:0"
CHANGED = {
    "policies_file": "s3:policies.md",
    "tags_file": "s3:tags.toml",
    **{f"{name}_file": f"s3:{name}.jsonl.gz" for name in ("catalog", "volumes", "orders")},
    "classifier": f"bedrock:{MODEL}",
    "shop_name": SETTINGS["MANGA_SHOP_NAME"],
    "title_pattern": SETTINGS["MANGA_TITLE_PATTERN"],
    "order_pattern": SETTINGS["MANGA_ORDER_PATTERN"],
    "settings": (("MANGA_ADULT", "off"), *((name, SETTINGS[name]) for name in ("MANGA_CURRENCY", "MANGA_COVER_HOSTS"))),
    "told": AlertAddresses("oncall@shop.test", "https://pager.shop.test/tickets"),
    "traces": 0.0,
    "temperature": None,
    "max_tokens": None,
    "prompt_cache": False,
    "tools": "core",
    "turn_calls": 2,
    "door": replace(DEV.door, reserved_concurrency=20),
}
READ = ["policies.md", "tags.toml"]
LOADED = ["catalog.jsonl.gz", "volumes.jsonl.gz", "orders.jsonl.gz"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("changed")
    synthesise_changed(made, "dev", **CHANGED)
    return made


@pytest.fixture(scope="module")
def changed(folder: Path) -> dict[str, Template]:
    return read(folder, "dev")


def container(template: Template, name: str, family: str = "pod") -> dict[str, Any]:
    (found,) = [each for each, task in containers(template) if each["Name"] == name and task["Family"].endswith(family)]
    return dict(found)


def test_with_addresses_of_its_own_it_can_be_deployed(folder: Path) -> None:
    assert errors(folder, "dev") == []


def test_its_settings_are_the_server_s(changed: dict[str, Template]) -> None:
    told = environment(changed["pod"], container(changed["pod"], "manga-tools"))
    assert told["MANGA_CLASSIFIER"] == f"bedrock:{MODEL}"
    assert told["MANGA_ADULT"] == "off"
    assert (told["MANGA_POLICIES_FILE"], told["MANGA_TAGS_FILE"]) == ("/shop/policies.md", "/shop/tags.toml")


@pytest.mark.parametrize(("reader", "family"), [("manga-tools", "pod"), ("seed", "seed")])
@pytest.mark.parametrize("name", ["SHOP_NAME", "TITLE_PATTERN", "ORDER_PATTERN", "CURRENCY", "COVER_HOSTS"])
def test_the_second_shop_is_told_as_elsewhere(changed: dict[str, Template], reader: str, family: str, name: str) -> None:
    told = environment(changed["pod"], container(changed["pod"], reader, family))
    assert told[f"MANGA_{name}"] == SETTINGS[f"MANGA_{name}"]


@pytest.mark.parametrize(("reader", "family"), [("manga-tools", "pod"), ("seed", "seed")])
def test_its_files_are_there_before_they_are_read(changed: dict[str, Template], reader: str, family: str) -> None:
    pod = changed["pod"]
    own, files = container(pod, reader, family), container(pod, "shop-files", family)
    assert {"ContainerName": "shop-files", "Condition": "SUCCESS"} in own["DependsOn"]
    assert files["Essential"] is False
    assert "RestartPolicy" not in files
    assert [each["ContainerPath"] for each in files["MountPoints"] if each["SourceVolume"] == "shop"] == ["/tmp"]
    mounted = {"SourceVolume": "shop", "ContainerPath": "/shop", "ReadOnly": True}
    assert mounted in own["MountPoints"]
    folder, *urls = (pod.value(each) for each in files["Command"])
    assert folder == "/tmp"
    names = READ + (LOADED if family == "seed" else [])
    assert [url.rpartition("/shop/")[2] for url in urls] == [f"{name}?region={DEV.region}" for name in names]
    if family == "pod":
        assert environment(pod, files)["AWS_PROFILE"] == "server"


def test_its_policies_are_followed_beside_the_server_alone(changed: dict[str, Template]) -> None:
    """With the rights and in the folder of what fetched them first, in room that is left for it. The server waits for none of it."""
    pod = changed["pod"]
    first, follower = container(pod, "shop-files"), container(pod, "policies")
    assert [pod.value(each) for each in follower["Command"]] == ["--follow", "15", *map(pod.value, first["Command"][:2])]
    same = ("EntryPoint", "Environment", "Image", "MountPoints", "User", "Essential")
    assert {name: follower[name] for name in same} == {name: first[name] for name in same}
    assert {"ContainerName": "shop-files", "Condition": "SUCCESS"} in follower["DependsOn"]
    assert follower["RestartPolicy"] == {"Enabled": True, "IgnoredExitCodes": [2], "RestartAttemptPeriod": 60}
    assert "policies" not in [each["ContainerName"] for each in container(pod, "manga-tools")["DependsOn"]]
    (task,) = [task for each, task in containers(pod) if each["Name"] == "policies"]
    lasting = [each["Memory"] for each in task["ContainerDefinitions"] if each["Name"] not in ("profiles", "shop-files")]
    assert sum(lasting) <= int(task["Memory"])


def test_the_seed_alone_is_told_what_it_loads(changed: dict[str, Template]) -> None:
    told = [environment(changed["pod"], container(changed["pod"], *each)) for each in (("seed", "seed"), ("manga-tools",))]
    files = [{name: value for name, value in each.items() if Path(value).name in LOADED} for each in told]
    assert files == [
        {f"MANGA_{name.partition('.')[0].upper()}_FILE": f"/shop/{name}" for name in LOADED},
        {},
    ]


def test_roles_have_what_is_asked_with_it(folder: Path) -> None:
    templates = Templates.read(folder / "dev", DEV.region)
    own, shop = roles(templates, DEV.prefix), Shop(DEV, templates)
    bucket = shop.arn("bucket")
    model = f"arn:aws:bedrock:{DEV.region}::foundation-model/{MODEL}"
    wanted = [("server", "bedrock:InvokeModel", model)]
    wanted += [
        (role, "s3:GetObject", f"{bucket}/shop/{name}")
        for role in ("server", "seed")
        for name in READ + (LOADED if role == "seed" else [])
    ]
    wanted += [("seed", "dynamodb:BatchWriteItem", shop.arn("table/orders"))]
    wanted += [("seed", "dynamodb:DescribeTable", shop.arn("table/profile"))]
    denied = [("agent", "s3:GetObject", f"{bucket}/shop/tags.toml"), ("server", "s3:GetObject", f"{bucket}/shop/other")]
    denied += [("server", "s3:GetObject", f"{bucket}/shop/{name}") for name in LOADED]
    denied += [("seed", "dynamodb:BatchWriteItem", shop.arn("table/profile"))]
    denied += [("seed", "bedrock:InvokeModel", model)]
    assert decided([asked(own[role], action, arn) for role, action, arn in wanted]) == [ALLOWED] * len(wanted)
    assert ALLOWED not in decided([asked(own[role], action, arn) for role, action, arn in denied])


def asked(role: Role, action: str, arn: str) -> Asked:
    return Asked(role.arn, role.policy, action, arn)


def test_a_stage_without_traces_collects_metrics_alone_and_has_no_endpoint_for_spans(changed: dict[str, Template]) -> None:
    config = yaml.safe_load(environment(changed["pod"], container(changed["pod"], "collector"))["AOT_CONFIG_CONTENT"])
    assert (list(config["service"]["pipelines"]), list(config["exporters"])) == (["metrics"], ["awsemf"])
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" not in environment(changed["pod"], container(changed["pod"], "agent"))
    services = [
        changed["foundation"].value(each["Properties"]["ServiceName"])
        for each in changed["foundation"].of("AWS::EC2::VPCEndpoint").values()
    ]
    assert not any(each.endswith(".xray") for each in services)


def test_the_agent_is_told_what_its_stage_states_and_nothing_else(changed: dict[str, Template]) -> None:
    told = environment(changed["pod"], container(changed["pod"], "agent"))
    assert not {"AGENT_TEMPERATURE", "AGENT_MAX_TOKENS"} & told.keys()
    assert {name: told[f"AGENT_{name}"] for name in ("PROMPT_CACHE", "TOOLS", "TURN_CALLS")} == {
        "PROMPT_CACHE": "off", "TOOLS": "core", "TURN_CALLS": "2",
    }  # fmt: skip


def test_the_functions_of_the_door_keep_the_concurrency_that_is_reserved(changed: dict[str, Template]) -> None:
    made = [each for template in changed.values() for each in template.of("AWS::Lambda::Function").values()]
    assert [each["Properties"]["ReservedConcurrentExecutions"] for each in made] == [20, 20]
