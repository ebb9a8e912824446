"""The service of the pod: everything that a release changes, so that its rollback is one stack's."""

from __future__ import annotations

from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.alarms import Alarms
from infra.cdk.constructs.pod import Pod
from infra.cdk.constructs.seed import Seed
from infra.cdk.constructs.service import Service
from infra.cdk.stacks.foundation import Foundation
from infra.cdk.stacks.stage_stack import StageStack


class Beside(StageStack):
    def __init__(self, scope: Construct, stage: Stage, foundation: Foundation) -> None:
        super().__init__(scope, stage, "pod", "The agent with the manga tools beside it, as one service")
        Seed(self, stage, foundation.data, foundation.repositories, foundation.roles)
        pod = Pod(self, stage, foundation.data, foundation.repositories, foundation.roles)
        alarms = Alarms(self, stage, foundation)
        service = Service(self, stage, foundation.cluster, foundation.network, pod.task, alarms.rollback)
        service.node.add_dependency(alarms)
