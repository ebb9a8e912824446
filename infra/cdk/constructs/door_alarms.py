"""Creates the alarms of the customers' entry points from their definitions in infra/alarms."""

from __future__ import annotations

from aws_cdk import CfnResource
from constructs import Construct

from infra.alarms.cloudwatch import Deployed
from infra.alarms.door import DoorParts, door_alarms, rollback_names
from infra.cdk.config import Stage
from infra.cdk.constructs.alarms import make
from infra.cdk.constructs.door import Door
from infra.cdk.stacks.foundation import Foundation


class DoorAlarms(Construct):
    """Alarms of the entry points. `made`: by logical id. `rollback`: names of those that roll a deployment of agents
    back."""

    def __init__(self, scope: Construct, stage: Stage, foundation: Foundation, door: Door) -> None:
        super().__init__(scope, "DoorAlarms")
        topics = foundation.topics
        where = Deployed(stage.agents, stage.namespace, page=topics.page.topic_arn, ticket=topics.ticket.topic_arn)
        parts = DoorParts(
            https=door.https.dimensions,
            sockets=door.socket.dimensions,
            link=door.socket.target_dimensions,
            open_sockets=door.socket.open_sockets,
            cluster=stage.prefix,
            service=stage.agents if stage.walled else None,
            least_tasks=stage.agents_scaling.least,
        )
        self.rollback = rollback_names(where)
        self.made: dict[str, CfnResource] = {
            name: make(self, name, each) for name, each in door_alarms(where, parts).items()
        }
