"""The customers' only entry points: HTTPS with server-sent events, and WebSockets. Both lead to the agent's port."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.agent_container import AGENT
from infra.cdk.constructs.https_door import HttpsDoor
from infra.cdk.constructs.keys import Keys
from infra.cdk.constructs.network import Network
from infra.cdk.constructs.socket_door import SocketDoor
from infra.door.api import AGENT_PORT


class Door(Construct):
    """HTTPS and WebSocket entry points. `group`: security group of the agents' tasks."""

    def __init__(self, scope: Construct, stage: Stage, network: Network, keys: Keys, secret_arn: str) -> None:
        super().__init__(scope, "Door")
        self.group = ec2.SecurityGroup(
            self, "Behind", vpc=network.vpc, description="Agents behind the door", allow_all_outbound=False
        )
        self.https = HttpsDoor(self, stage, network, keys, self.group)
        self.socket = SocketDoor(self, stage, network, keys, self.group, secret_arn)
        name = self.https.balancer.load_balancer_dns_name
        cdk.CfnOutput(self, "Target", value=name, description=f"What {stage.door.domain} has to be a CNAME of")

    def attach(self, service: ecs.FargateService) -> None:
        for target in (self.https.target, self.socket.target):
            target.add_target(service.load_balancer_target(container_name=AGENT, container_port=AGENT_PORT))
