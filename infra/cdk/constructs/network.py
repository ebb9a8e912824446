"""Network whose tasks have no internet access: they reach AWS over VPC endpoints, each limited to the actions that the stage
needs. The internet gateway serves only the customers' load balancer."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.keys import Keys
from infra.cdk.removal import removal

HTTPS = 443
CACHE_PORTS = (6379, 6380)
"""6380 is ElastiCache Serverless's port for reads from a replica."""
PULL = ("ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer", "ecr:BatchCheckLayerAvailability")
SPANS = "Spans"
TOKEN = ("ecr:GetAuthorizationToken",)
"""Action that cannot be limited to a resource."""
ENDPOINTS: dict[str, tuple[str, dict[str, tuple[str, ...]]]] = {
    "EcrApi": ("ecr.api", {"ecr:repository/{prefix}/*": PULL, "": TOKEN}),
    "EcrDocker": ("ecr.dkr", {"ecr:repository/{prefix}/*": PULL, "": TOKEN}),
    "Logs": ("logs", {"logs:log-group:/{prefix}-*": ("logs:CreateLogStream", "logs:PutLogEvents")}),
    "Secrets": ("secretsmanager", {"secretsmanager:secret:{prefix}/*": ("secretsmanager:GetSecretValue",)}),
    "Sts": ("sts", {"iam:role/{prefix}-*": ("sts:AssumeRole",)}),
    "Bedrock": ("bedrock-runtime", {"": ("bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream")}),
    "Flags": (
        "appconfigdata",
        {"appconfig:application/*": ("appconfig:StartConfigurationSession", "appconfig:GetLatestConfiguration")},
    ),
    "Functions": ("lambda", {"lambda:function:{prefix}-outside": ("lambda:InvokeFunction",)}),
    SPANS: ("xray", {"": ("xray:PutTraceSegments", "xray:PutTelemetryRecords")}),
}
"""Interface endpoints of the tasks: each service, and the actions that its endpoint policy allows, by resource (without
region and account). S3 (image layers, too) and DynamoDB have gateway endpoints, which cost nothing."""


INSIDE = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED)


def endpoints(stage: Stage) -> dict[str, tuple[str, dict[str, tuple[str, ...]]]]:
    return {name: each for name, each in ENDPOINTS.items() if stage.traces or name != SPANS}


class Network(Construct):
    """VPC with its endpoints. `tasks`, `agents`, `cache`, `endpoints`: security groups, with the rules between them;
    `agents` exists only if agents run in separate tasks. `s3`: a gateway endpoint."""

    def __init__(self, scope: Construct, stage: Stage, keys: Keys) -> None:
        super().__init__(scope, "Network")
        self._stage, self._stack = stage, cdk.Stack.of(self)
        self.vpc = self._vpc(stage)
        self.tasks = self._group("Tasks", "Containers of the tasks")
        self.cache = self._group("Cache", "Session memory")
        self.endpoints = self._group("Endpoints", "Services of AWS inside the network")
        https, cache = ec2.Port.tcp(HTTPS), ec2.Port.tcp_range(*CACHE_PORTS)
        self._to_aws(self.tasks, stage.network.s3_prefixes, stage.network.dynamodb_prefixes)
        self.tasks.add_egress_rule(self.cache, cache, "Session memory")
        self.cache.add_ingress_rule(self.tasks, cache, "Tasks")
        if stage.walled:
            self.agents = self._group("Agents", "Agents, in tasks of their own")
            self._to_aws(self.agents, stage.network.s3_prefixes)
            self.agents.add_egress_rule(ec2.Peer.ipv4(stage.network.cidr), https, "The shared service")
        self.s3 = self._gateway("S3", ec2.GatewayVpcEndpointAwsService.S3)
        self._gateway("DynamoDb", ec2.GatewayVpcEndpointAwsService.DYNAMODB).add_to_policy(
            self.through(["dynamodb:*"], [self._arn(f"dynamodb:table/{stage.table_prefix}*")])
        )
        self._endpoints()
        self._flow_log(stage, keys)

    @property
    def subnets(self) -> list[str]:
        return [subnet.subnet_id for subnet in self.vpc.isolated_subnets]

    def through(self, actions: list[str], resources: list[str]) -> iam.PolicyStatement:
        """Returns a statement for this account's principals only: other credentials are useless inside the network."""
        return iam.PolicyStatement(
            principals=[iam.AnyPrincipal()],
            actions=actions,
            resources=resources,
            conditions={"StringEquals": {"aws:PrincipalAccount": self._stack.account}},
        )

    def _vpc(self, stage: Stage) -> ec2.Vpc:
        inside = ec2.SubnetConfiguration(name="inside", subnet_type=ec2.SubnetType.PRIVATE_ISOLATED, cidr_mask=22)
        door = ec2.SubnetConfiguration(
            name="door", subnet_type=ec2.SubnetType.PUBLIC, cidr_mask=26, map_public_ip_on_launch=False
        )
        return ec2.Vpc(
            self,
            "Vpc",
            ip_addresses=ec2.IpAddresses.cidr(stage.network.cidr),
            availability_zones=list(stage.network.zones),
            subnet_configuration=[inside, door],
            nat_gateways=0,
        )

    def _group(self, name: str, what: str) -> ec2.SecurityGroup:
        return ec2.SecurityGroup(self, name, vpc=self.vpc, description=what, allow_all_outbound=False)

    def _to_aws(self, group: ec2.SecurityGroup, *prefixes: str) -> None:
        """Lets a group reach the interface endpoints, and by prefix list the gateway endpoints, which have no group."""
        https = ec2.Port.tcp(HTTPS)
        for peer in (self.endpoints, *(ec2.Peer.prefix_list(each) for each in prefixes)):
            group.add_egress_rule(peer, https, "Services of AWS")
        self.endpoints.add_ingress_rule(group, https, "Tasks")

    def _gateway(self, name: str, service: ec2.GatewayVpcEndpointAwsService) -> ec2.GatewayVpcEndpoint:
        gateway = self.vpc.add_gateway_endpoint(name, service=service, subnets=[INSIDE])
        if name == "S3":  # ECR's own bucket, by URLs that ECR has signed
            layers = f"arn:{self._stack.partition}:s3:::prod-{self._stage.region}-starport-layer-bucket/*"
            gateway.add_to_policy(
                iam.PolicyStatement(principals=[iam.AnyPrincipal()], actions=["s3:GetObject"], resources=[layers])
            )
        return gateway

    def _endpoints(self) -> None:
        for name, (service, allowed) in endpoints(self._stage).items():
            there = ec2.InterfaceVpcEndpointService(f"com.amazonaws.{self._stage.region}.{service}", HTTPS)
            endpoint = self.vpc.add_interface_endpoint(
                name, service=there, security_groups=[self.endpoints], open=False, private_dns_enabled=True, subnets=INSIDE
            )
            for resource, actions in allowed.items():
                endpoint.add_to_policy(self.through(list(actions), [self._arn(resource) if resource else "*"]))

    def _arn(self, resource: str) -> str:
        service, _, rest = resource.format(prefix=self._stage.prefix).partition(":")
        region = "" if service == "iam" else self._stack.region
        return f"arn:{self._stack.partition}:{service}:{region}:{self._stack.account}:{rest}"

    def _flow_log(self, stage: Stage, keys: Keys) -> None:
        group = logs.LogGroup(
            self,
            "Flows",
            log_group_name=f"/{stage.prefix}/flows",
            retention=logs.RetentionDays.TWO_WEEKS,
            encryption_key=keys.shop,
            removal_policy=removal(stage),
        )
        # Only refused connections: logging all of them would cost more than the tasks.
        self.vpc.add_flow_log(
            "Refused",
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(group),
            traffic_type=ec2.FlowLogTrafficType.REJECT,
        )
        cdk.Tags.of(group).add("Contains", "addresses")
