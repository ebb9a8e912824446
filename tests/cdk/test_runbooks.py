"""What an operator types on AWS: every command of the documents exists, and every name in it is deployed."""

from __future__ import annotations

import logging
import re
import subprocess
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import boto3
import botocore.loaders
import botocore.model
import jmespath
import pytest
from botocore import xform_name

from infra.cdk.stages import STAGES
from infra.seed.copy import copy, main
from server.runtime.lifecycle import logger as background
from session.resilience.breaker import Outage
from tests.support.cdk import REGION, Template, containers
from tests.support.documents import DOCUMENTS, blocks, text_of
from tests.support.moto import KEYS, moto
from tools.store.backends.dynamodb.tables import TABLES

RUNBOOKS, DEPLOYING = "infra/RUNBOOKS.md", "infra/cdk/README.md"
OF_THE_CLI = {("logs", "tail"), ("ecs", "wait"), ("dynamodb", "wait"), ("ecr", "get-login-password")}
"""Commands that are no operation of a service; the names in them are checked all the same."""
GLOBAL = {"query", "output", "no-paginate"}
"""Options of every command."""
MEMBER = re.compile(r"[A-Za-z]\w*")


def typed(folder: Path, stage: str, service: str) -> list[list[str]]:
    """Every `aws …` of the documents, as a shell reads the blocks for a service of a stage. Nothing else is run, and each answers
    X. Of the deployment's document, which names prod alone, those for dev are left out."""
    documents = (RUNBOOKS, DEPLOYING) if stage == "prod" else (RUNBOOKS,)
    lines = [body for document in documents for body in blocks("sh", text_of(document))]
    text = "\n".join([*lines, *re.findall(r"`(aws [^`]+)`", text_of(RUNBOOKS).replace("STAGE", stage))])
    text, ours = re.subn(r"^stage=\S+; service=\S+$", f"stage={stage}; service={service}", text, flags=re.MULTILINE)
    assert ours == 1
    told, aws = folder / "told", folder / "aws"
    aws.write_text('#!/bin/sh\nprintf \'%s\\t\' "$@" >> "$TOLD"; echo >> "$TOLD"; echo X\n')
    aws.chmod(0o755)
    subprocess.run(["/bin/sh", "-c", text], cwd=folder, env={"PATH": str(folder), "TOLD": str(told)}, capture_output=True)
    return [line.rstrip("\t").split("\t") for line in told.read_text().splitlines()]


def deployed(templates: dict[str, Template], stage: str) -> dict[str, set[str]]:
    def named(kind: str, key: str) -> set[str]:
        return {
            each["Properties"][key]
            for template in templates.values()
            for each in template.of(kind).values()
            if key in each["Properties"]
        }

    return {
        "cluster": named("AWS::ECS::Cluster", "ClusterName"),
        "service": named("AWS::ECS::Service", "ServiceName"),
        "task-definition": named("AWS::ECS::TaskDefinition", "Family"),
        "stack": {f"manga-tools-{stage}-{name}" for name in templates},
        "log": named("AWS::Logs::LogGroup", "LogGroupName"),
        "source-identifier": named("AWS::ElastiCache::ServerlessCache", "ServerlessCacheName"),
        "secret-id": named("AWS::SecretsManager::Secret", "Name"),
        "source-table-name": named("AWS::DynamoDB::Table", "TableName"),
    }


@pytest.fixture(params=["service", "agents"])
def service(request: pytest.FixtureRequest, stage: str) -> str:
    return str(getattr(STAGES[stage], request.param))


def test_names_in_commands_are_deployed(templates: dict[str, Template], tmp_path: Path, stage: str, service: str) -> None:
    """Clusters, services, task definitions, log groups, the cache, stacks, secrets and tables."""
    there, checked = deployed(templates, stage), set[str]()
    for words in typed(tmp_path, stage, service):
        named = dict(zip(words, words[1:], strict=False))
        if words[:2] == ["logs", "tail"]:
            named["--log"] = words[2]
        for kind in there:
            for option in (f"--{kind}", f"--{kind}s", f"--{kind}-name"):
                if named.get(option, "X") != "X":
                    assert named[option] in there[kind], " ".join(words)
                    checked.add(kind)
    assert checked == there.keys() - (set() if stage == "prod" else {"secret-id", "source-table-name"})


def test_containers_and_their_streams_are_deployed(templates: dict[str, Template], tmp_path: Path, stage: str) -> None:
    own = STAGES[stage].service
    words = typed(tmp_path, stage, own)
    ((asked,),) = [re.findall(r'"name":"([\w-]+)"', " ".join(each)) for each in words if "--overrides" in each]
    ((prefix, container),) = {tuple(each[-1].split("/")[:2]) for each in words if "--log-stream-names" in each}
    template = templates.get("pod") or templates["shared"]
    made = [each for each, task in containers(template) if task["Family"] == own]
    (options,) = [each["LogConfiguration"]["Options"] for each in made if each["Name"] == asked == container]
    assert options["awslogs-stream-prefix"] == prefix
    assert template.of("AWS::Logs::LogGroup")[options["awslogs-group"]["Ref"]]["Properties"]["LogGroupName"] == f"/{own}"


def test_outputs_and_names_in_the_text_are_deployed(templates: dict[str, Template], stage: str) -> None:
    """Log groups and services stand in backticks too."""
    there, own = deployed(templates, stage), STAGES[stage]
    text = text_of(RUNBOOKS).replace("STAGE", stage).replace("/SERVICE/", f"/{own.service}/")
    outputs = {f"Flags{each}" for each in re.findall(r"\$\(of (\w+)\)", text)}
    assert outputs == {each for each in templates["foundation"].body["Outputs"] if each.startswith("Flags")}
    groups = set(re.findall(rf"`(/{own.prefix}[\w/-]*)`", text))
    assert f"/{own.service}/audit" in groups <= there["log"]
    assert set(re.findall(rf"`(?:service=)?({own.prefix}-[\w-]+)`", text)) == there["service"]


SHAPES = botocore.loaders.Loader()


def operation(service: str, command: str) -> botocore.model.OperationModel:
    model = botocore.model.ServiceModel(SHAPES.load_service_model(service, "service-2"), service)
    names = {xform_name(each, "-"): each for each in model.operation_names}
    assert command in names, f"aws {service} {command}"
    return model.operation_model(names[command])


def members(shape: Any, seen: set[str]) -> Iterator[str]:
    if shape is None or shape.name in seen:
        return
    seen.add(shape.name)
    for name, each in getattr(shape, "members", {}).items():
        yield name
        yield from members(each, seen)
    yield from members(getattr(shape, "member", None), seen)


def test_commands_and_their_options_are_those_of_aws(tmp_path: Path) -> None:
    """By the descriptions of its services, with enumerated values, and the names that a query asks of an answer."""
    checked = 0
    for words in typed(tmp_path, "prod", STAGES["prod"].service):
        if tuple(words[:2]) in OF_THE_CLI:
            continue
        of = operation(*words[:2])
        takes = {xform_name(name, "-"): shape for name, shape in of.input_shape.members.items()}
        for option, value in zip(words, [*words[1:], ""], strict=True):
            if not option.startswith("--"):
                continue
            name = option.removeprefix("--")
            assert name in takes or name in GLOBAL or name.removeprefix("no-") in takes, " ".join(words)
            if name == "query":
                jmespath.compile(value)
                named = MEMBER.findall(re.sub(r"'[^']*'", "", value))
                assert set(named) <= set(members(of.output_shape, set())), " ".join(words)
            if enum := getattr(takes.get(name), "enum", ()):
                assert value in enum, " ".join(words)
        missing = {xform_name(each, "-") for each in of.input_shape.required_members} - {
            each.removeprefix("--") for each in words
        }
        assert not missing, " ".join(words)
        checked += 1
    assert checked >= 15


def matches(pattern: str, line: str) -> bool:
    """Whether CloudWatch shows a line for a pattern of terms of which any is enough."""
    return any((quoted or plain) in line for quoted, plain in re.findall(r'\?(?:"([^"]+)"|(\w+))', pattern))


def test_lines_that_runbooks_quote_pass_the_filter(caplog: pytest.LogCaptureFixture) -> None:
    """Those of the log as they are written, too: "is back" is no warning."""
    (pattern,) = re.findall(r"--filter-pattern '([^']+)'", text_of(RUNBOOKS))
    quoted = re.findall(r"the log(?:'s lines?| says) \"([^\"]+)\"", text_of(RUNBOOKS))
    assert len(quoted) == 5
    for line in quoted:
        assert matches(pattern, line), line
    outage = Outage(logging.getLogger("server.test"), "the catalog backend, by its breaker,")
    with caplog.at_level(logging.INFO):
        outage.record_failure("refused")
        outage.record_recovery()
        try:
            raise ValueError
        except ValueError:
            background.exception("the background task %r has died; it is begun again", "flags")
    lines = [f"{record.levelname} {record.name} {record.getMessage()}" for record in caplog.records]
    assert len(lines) == 3
    assert all(matches(pattern, line) for line in lines)
    assert not matches(pattern, "INFO server.application serves 127.0.0.1:8080")


def test_no_document_asks_for_a_shell_in_a_task_or_for_a_field_that_no_stage_has() -> None:
    """Exec is off (tests/cdk/test_service.py)."""
    for document in DOCUMENTS:
        assert not re.search(r"ssm start-session|execute-command", text_of(document)), document
    fields = re.findall(r"`((?:bounds|cache|door|scaling|search|shared|told)\.\w+)`", text_of(RUNBOOKS) + text_of(DEPLOYING))
    assert {"scaling.least", "search.most_indexing", "shared.domain"} <= set(fields)
    assert all(attrgetter(field)(STAGES["prod"]) is not None for field in set(fields) - {"door.socket_domain"})


def test_restored_items_are_written_over_those_of_a_table_that_can_be_restored(tmp_path: Path) -> None:
    """What came later stays."""
    (named,) = set(re.findall(r"--source-table-name (\S+)", "\n".join(blocks("sh", text_of(DEPLOYING)))))
    (restored,) = [table for table in TABLES if table.full_name("manga-prod-") == named]
    assert restored.recovery
    with moto(tmp_path) as endpoint:
        driver = boto3.resource("dynamodb", region_name=REGION, endpoint_url=endpoint, **KEYS)
        then, now = (driver.create_table(**restored.creation(prefix)) for prefix in ("then-", "now-"))
        keys = [{"owner": "a", "order_id": str(number)} for number in range(30)]
        for key in keys:
            then.put_item(Item={**key, "ordered_at": "2026-11-28", "status": "shipped"})
        now.put_item(Item={**keys[0], "status": "spoilt"})
        now.put_item(Item={"owner": "b", "order_id": "later"})
        assert copy(driver, then.name, now.name) == len(keys)
        found = now.scan()["Items"]
    assert len(found) == len(keys) + 1
    assert {each.get("status") for each in found} == {"shipped", None}


def test_a_table_is_copied_only_to_the_one_it_was_restored_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert {
        main(each) for each in (["orders", "orders"], ["orders"], ["orders", "orders-then"], ["dev-orders", "orders"])
    } == {2}
    assert "usage" in capsys.readouterr().err
