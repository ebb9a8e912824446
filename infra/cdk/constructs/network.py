"""A network without a way to the internet: what tasks call is reached over endpoints, so nothing can be sent elsewhere."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.keys import Keys
from infra.cdk.removal import removal

HTTPS = 443
CACHE_PORTS = (6379, 6380)
"""6380 is ElastiCache Serverless's port for reads from a replica."""
SERVICES = {
    "EcrApi": "ecr.api",
    "EcrDocker": "ecr.dkr",
    "Logs": "logs",
    "Secrets": "secretsmanager",
    "Sts": "sts",
    "Bedrock": "bedrock-runtime",
    "Flags": "appconfigdata",
}
"""What tasks call by an address inside. S3 (the layers of images, too) and DynamoDB have gateways, which cost nothing."""


class Network(Construct):
    """`tasks`, `cache` and `endpoints` are security groups. Who may reach whom is said here and nowhere else."""

    def __init__(self, scope: Construct, stage: Stage, keys: Keys) -> None:
        super().__init__(scope, "Network")
        self.vpc = self._vpc(stage)
        self.tasks = self._group("Tasks", "Containers of the tasks")
        self.cache = self._group("Cache", "Session memory")
        self.endpoints = self._group("Endpoints", "Services of AWS inside the network")
        https, cache = ec2.Port.tcp(HTTPS), ec2.Port.tcp_range(*CACHE_PORTS)
        # Gateways have addresses that no group names; there is no other route outside.
        self.tasks.add_egress_rule(ec2.Peer.any_ipv4(), https, "Services of AWS")
        self.tasks.add_egress_rule(self.cache, cache, "Session memory")
        self.cache.add_ingress_rule(self.tasks, cache, "Tasks")
        self.endpoints.add_ingress_rule(self.tasks, https, "Tasks")
        self._endpoints(stage)
        self._flow_log(stage, keys)

    @property
    def subnets(self) -> list[str]:
        return [subnet.subnet_id for subnet in self.vpc.isolated_subnets]

    def _vpc(self, stage: Stage) -> ec2.Vpc:
        inside = ec2.SubnetConfiguration(name="inside", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=22)
        return ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr(stage.network.cidr),
            availability_zones=list(stage.network.zones),
            subnet_configuration=[inside],
            nat_gateways=0,
        )

    def _group(self, name: str, what: str) -> ec2.SecurityGroup:
        return ec2.SecurityGroup(self, name, vpc=self.vpc, description=what, allow_all_outbound=False)

    def _endpoints(self, stage: Stage) -> None:
        self.vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
        self.vpc.add_gateway_endpoint("DynamoDb", service=ec2.GatewayVpcEndpointAwsService.DYNAMODB)
        for name, service in SERVICES.items():
            there = ec2.InterfaceVpcEndpointService(f"com.amazonaws.{stage.region}.{service}", HTTPS)
            self.vpc.add_interface_endpoint(
                name, service=there, security_groups=[self.endpoints], open=False, private_dns_enabled=True
            )

    def _flow_log(self, stage: Stage, keys: Keys) -> None:
        group = logs.LogGroup(
            self,
            "Flows",
            log_group_name=f"/{stage.prefix}/flows",
            retention=logs.RetentionDays.TWO_WEEKS,
            encryption_key=keys.shop,
            removal_policy=removal(stage),
        )
        # Refused connections alone: all of them would cost more than the tasks, and tell less.
        self.vpc.add_flow_log(
            "Refused",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(group),
            traffic_type=ec2.FlowLogTrafficType.REJECT,
        )
        cdk.Tags.of(group).add("Contains", "addresses")
