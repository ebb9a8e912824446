"""IAM's judgement without IAM: requests, judged by the policies of a role as the simulator of iam-simulate reads them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.support.cloudformation import ACCOUNT
from tests.support.installed import CLIENTS, node

ALLOWED = "Allowed"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. `context` is what its conditions are held against, `resourcePolicy` the policy of what is asked for."""

    principal: str
    policy: Mapping[str, Any]
    action: str
    resource: str
    context: Mapping[str, str] = field(default_factory=dict)
    resourcePolicy: Mapping[str, Any] | None = None
    account: str = ACCOUNT


def decided(asked: Sequence[Asked]) -> list[str]:
    """`Allowed`, `ExplicitlyDenied` or `ImplicitlyDenied` of each; what is no request at all (an action that the resource does
    not know) fails the test."""
    told = json.dumps([asdict(each) for each in asked])
    command = node().beside(CLIENTS / "iam_simulation.mjs")
    done = subprocess.run(command, input=told, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    for each, answer in zip(asked, answers, strict=True):
        assert "error" not in answer, (each.action, each.resource, answer)
    return [str(answer["decision"]) for answer in answers]
