"""The templates of `make synth`, made by the environment of infra/cdk, and what their references come to."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.environments import ROOT, python_of

SECONDS = 240
ACCOUNT = "111122223333"
REGION = "ap-northeast-1"
STAGES = ("dev", "prod")
STACKS = {"dev": ("foundation", "pod"), "prod": ("foundation", "shared", "agents")}
"""Production has the shape with a wall."""
NOWHERE = "http://127.0.0.1:9"
Json = dict[str, Any]


def synthesise(out: Path, *arguments: str, silent: bool = True) -> subprocess.CompletedProcess[str]:
    """Whatever would go to a network is sent where nobody listens."""
    own = {name: value for name, value in os.environ.items() if not name.upper().startswith(("AWS_", "MANGA_", "CDK_"))}
    closed = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOWHERE) | {
        "NO_PROXY": "",
        "no_proxy": "",
    }
    return subprocess.run(
        [python_of("clients/cdk"), "-m", "infra.cdk", "--out", out, *arguments],
        cwd=ROOT, env=own | closed, capture_output=True, text=True, timeout=SECONDS, check=silent,
    )  # fmt: skip


def synthesise_changed(out: Path, stage: str, **changes: object) -> None:
    """A stage with other values, which have to be what Python reads from their repr."""
    told = ", ".join(f"{name}={value!r}" for name, value in changes.items())
    program = (
        "from dataclasses import replace; from pathlib import Path; from infra.cdk.app import synthesise; "
        "from infra.cdk.config import *; from infra.cdk.stages import STAGES; "
        f"synthesise(replace(STAGES[{stage!r}], {told}), Path({str(out / stage)!r}))"
    )
    command = [python_of("clients/cdk"), "-c", program]
    subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=True)


@dataclass(frozen=True, slots=True)
class Template:
    """One stack's. `exports` are what the stacks of its stage tell each other, by name."""

    name: str
    body: Json
    exports: dict[str, Any]

    def of(self, kind: str) -> dict[str, Json]:
        """The resources of a type, such as `AWS::ECS::Service`, by their logical ids."""
        return {name: each for name, each in self.body["Resources"].items() if each["Type"] == kind}

    def only(self, kind: str) -> Json:
        """The properties of the one that there is."""
        (found,) = self.of(kind).values()
        return dict(found["Properties"])

    def value(self, stated: Any) -> Any:
        """What a deployment would put there: names and ARNs that stand for what CloudFormation gives out."""
        match stated:
            case {"Fn::Join": [between, parts]}:
                return between.join(str(self.value(each)) for each in parts)
            case {"Fn::ImportValue": name}:
                return self.exports[name]
            case {"Fn::Select": [index, parts]}:
                return self.value(parts)[int(index)]
            case {"Fn::Split": [by, text]}:
                return self.value(text).split(by)
            case {"Ref": name}:
                return _PSEUDO.get(name, name.lower())
            case {"Fn::GetAtt": [name, attribute]}:
                return _attribute(name, attribute)
            case dict():
                return {key: self.value(each) for key, each in stated.items()}
            case list():
                return [self.value(each) for each in stated]
        return stated


_PSEUDO = {"AWS::Region": REGION, "AWS::AccountId": ACCOUNT, "AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com"}


def _attribute(name: str, attribute: str) -> str:
    if attribute == "CollectionEndpoint":
        return f"https://{name.lower()}.{REGION}.aoss.amazonaws.com"
    if attribute.startswith("Endpoint."):
        return "6379" if attribute.endswith("Port") else f"{name.lower()}.serverless.apne1.cache.amazonaws.com"
    return f"arn:aws:service:{REGION}:{ACCOUNT}:{name}" if attribute.endswith("Arn") else f"<{name}.{attribute}>"


def read(folder: Path, stage: str) -> dict[str, Template]:
    """The templates of a stage, by what follows its prefix: `foundation`, and `pod`, or `shared` and `agents`."""
    bodies = {
        name: json.loads((folder / stage / f"manga-tools-{stage}-{name}.template.json").read_text())
        for name in STACKS[stage]
    }
    exports = {
        output["Export"]["Name"]: Template(name, body, {}).value(output["Value"])
        for name, body in bodies.items()
        for output in body.get("Outputs", {}).values()
        if "Export" in output
    }
    return {name: Template(name, body, exports) for name, body in bodies.items()}


def errors(folder: Path, stage: str) -> list[str]:
    """What keeps the CDK's command line from deploying a stage's assembly, as its metadata say."""
    files = (folder / stage).glob("*.metadata.json")
    said = (each for file in files for some in json.loads(file.read_text()).values() for each in some)
    return [each["data"] for each in said if each["type"] == "aws:cdk:error"]


def containers(template: Template) -> Iterator[tuple[Json, Json]]:
    """Each container of each task definition, with the task."""
    for task in template.of("AWS::ECS::TaskDefinition").values():
        for container in task["Properties"]["ContainerDefinitions"]:
            yield container, task["Properties"]


def environment(template: Template, container: Json) -> dict[str, str]:
    return {each["Name"]: template.value(each["Value"]) for each in container.get("Environment", ())}


def without_hashes(text: str) -> str:
    """Logical ids end in eight digits of a hash of their path, the names of exports in those of two."""
    return re.sub(r"(?<=[A-Za-z])(?:[0-9A-F]{8}){1,2}(?![0-9a-z])", "#", text)
