"""What an operator types on AWS: every command of the documents exists, and every name in it is deployed."""

from __future__ import annotations

import logging
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import botocore.loaders
import botocore.model
import pytest
from botocore import xform_name

from infra.cdk.stages import STAGES
from infra.seed.copy import copy, main
from server.runtime.lifecycle import logger as background
from session.resilience.breaker import Outage
from tests.support.cdk import REGION, Template, containers
from tests.support.documents import blocks, text_of
from tests.support.moto import KEYS, moto
from tools.store.backends.dynamodb.tables import TABLES

RUNBOOKS, DEPLOYING = "infra/RUNBOOKS.md", "infra/cdk/README.md"
OF_THE_CLI = {("logs", "tail"), ("ecs", "wait"), ("dynamodb", "wait"), ("ecr", "get-login-password")}
"""Commands that are no operation of a service; the names in them are checked all the same."""
GLOBAL = {"query", "output", "no-paginate"}
"""Options of every command."""
MEMBER = re.compile(r"[A-Za-z]\w*")


def said(stage: str, service: str) -> str:
    """The shell blocks of both documents, as they read for a service of a stage."""
    text = "\n".join(body for document in (RUNBOOKS, DEPLOYING) for body in blocks("sh", text_of(document)))
    inline = "\n".join(re.findall(r"`(aws [^`]+)`", text_of(RUNBOOKS)))
    text = f"{text}\n{inline}".replace("\\\n", " ").replace("$stage", stage).replace("$service", service)
    return text.replace("STAGE", stage)


def commands(text: str) -> Iterator[list[str]]:
    """Each `aws …`, with what the two functions of the runbooks stand for; a command within one is one too."""
    text = re.sub(r"(?<![\w-])flags (?=[a-z-]+ --)", "aws appconfig --application-id X ", text)
    text = re.sub(r"(?<![\w-])run (?=manga)", "aws ecs run-task --task-definition ", text)
    for found in re.finditer(r"(?<![\w-])aws ", text):
        rest, depth, quoted = "", 0, ""
        for letter in text[found.end() :]:
            if quoted:
                quoted = "" if letter == quoted else quoted
            elif letter in "'\"":
                quoted = letter
            elif letter == "(":
                depth += 1
            elif letter == ")":
                depth -= 1
            if depth < 0 or (not depth and not quoted and letter in ";&|#\n"):
                break
            rest += letter
        words = shlex.split(re.sub(r"\$\([^()]*(?:\([^()]*\))?[^()]*\)", "X", rest))
        if words[1:2] == ["--application-id"]:
            words = [words[0], words[3], *words[1:3], *words[4:]]
        yield words


def deployed(templates: dict[str, Template]) -> dict[str, set[str]]:
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
        "log": named("AWS::Logs::LogGroup", "LogGroupName"),
        "source-identifier": named("AWS::ElastiCache::ServerlessCache", "ServerlessCacheName"),
        "secret-id": named("AWS::SecretsManager::Secret", "Name"),
        "source-table-name": named("AWS::DynamoDB::Table", "TableName"),
    }


@pytest.fixture(params=["service", "agents"])
def service(request: pytest.FixtureRequest, stage: str) -> str:
    return str(getattr(STAGES[stage], request.param))


def test_names_in_commands_are_deployed(templates: dict[str, Template], stage: str, service: str) -> None:
    """Clusters, services, task definitions, log groups, streams, the cache, secrets and tables."""
    there, checked = deployed(templates), set[str]()
    text = said(stage, service)
    for words in commands(text if stage == "prod" else "\n".join(blocks_of_runbooks(text))):
        named = dict(zip(words, words[1:], strict=False))
        if words[:2] == ["logs", "tail"]:
            named["--log"] = words[2]
        for kind in there:
            for option in (f"--{kind}", f"--{kind}s", f"--{kind}-name"):
                value = named.get(option, "X")
                if value not in ("X", "$@") and "$" not in value:
                    assert value in there[kind], " ".join(words)
                    checked.add(kind)
    assert checked >= there.keys() - {"secret-id", "source-table-name"}
    assert stage == "dev" or checked == there.keys()


def blocks_of_runbooks(text: str) -> list[str]:
    """The document of the deployment names prod alone."""
    return [line for line in text.splitlines() if "manga-tools-prod" not in line and "manga-prod" not in line]


def test_containers_and_their_streams_are_deployed(templates: dict[str, Template], stage: str) -> None:
    own = STAGES[stage].service
    text = said(stage, own)
    (asked,) = set(re.findall(r'"containerOverrides":\[\{"name":"([\w-]+)"', text))
    (prefix, container) = re.search(r"--log-stream-names ([\w-]+)/([\w-]+)/", text).groups()  # type: ignore[union-attr]
    assert container == asked
    made = {
        (task["Family"], each["Name"]): each["LogConfiguration"]["Options"]
        for template in templates.values()
        for each, task in containers(template)
    }
    options = made[own, asked]
    assert options["awslogs-stream-prefix"] == prefix
    template = next(each for name, each in templates.items() if name in ("pod", "shared"))
    group = template.body["Resources"][options["awslogs-group"]["Ref"]]["Properties"]["LogGroupName"]
    assert group == f"/{own}"


def test_outputs_and_services_in_the_text_are_deployed(templates: dict[str, Template], stage: str) -> None:
    """Log groups and services in backticks too, of prod where no stage is named."""
    text = said(stage, STAGES[stage].service)
    stack = f"manga-tools-{stage}-foundation"
    assert f"--stack-name {stack} " in text
    assert {f"Flags{each}" for each in re.findall(r"\$\(of (\w+)\)", text)} <= templates["foundation"].body["Outputs"].keys()
    there = deployed(templates)
    own = STAGES[stage].service
    told = text_of(RUNBOOKS).replace("STAGE", stage).replace("/SERVICE/", f"/{own}/")
    groups = set(re.findall(rf"`(/manga-tools-{stage}[\w/-]*)`", told))
    assert groups >= {f"/manga-tools-{stage}-door", f"/{own}/audit"}
    assert groups <= there["log"]
    services = set(re.findall(rf"`(?:service=)?(manga-tools-{stage}-[\w-]+)`", told))
    assert services == there["service"] | ({"manga-tools-prod-shared"} if stage == "prod" else set())


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


def test_commands_and_their_options_are_those_of_aws() -> None:
    """By the descriptions of its services, with enumerated values, and the names that a query asks of an answer."""
    checked = 0
    for words in commands(said("prod", STAGES["prod"].service)):
        if tuple(words[:2]) in OF_THE_CLI or words[1] == "$@":
            continue
        of = operation(*words[:2])
        takes = {xform_name(name, "-"): shape for name, shape in of.input_shape.members.items()}
        for option, value in zip(words, [*words[1:], ""], strict=True):
            if not option.startswith("--"):
                continue
            name = option.removeprefix("--")
            assert name in takes or name in GLOBAL or name.removeprefix("no-") in takes, " ".join(words)
            if name == "query":
                named = MEMBER.findall(re.sub(r"'[^']*'", "", value))
                assert set(named) <= set(members(of.output_shape, set())), " ".join(words)
            if "$" not in value and (enum := getattr(takes.get(name), "enum", ())):
                assert value in enum, " ".join(words)
        missing = {xform_name(each, "-") for each in of.input_shape.required_members} - {
            each.removeprefix("--") for each in words
        }
        assert missing <= {"content"} or len(words) == 2, (words, missing)
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


def test_a_table_is_not_copied_to_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["orders", "orders"]) == main(["orders"]) == 2
    assert "usage" in capsys.readouterr().err
