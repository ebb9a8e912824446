"""Load balancer of the shared service: inside the network, over TLS, without sticky sessions."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_elasticloadbalancingv2 as elb
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.network import Network

PORT = 8080
IDLE_SECONDS = 60
"""Idle timeout: longer than the 15 seconds between heartbeats on a stream, shorter than the 75 that the server keeps an idle
connection (server/commands/serve.py): if the server closed first, a request being sent would be lost."""
DRAIN_SPARE_S = 20
"""Seconds beyond the tasks' stop time: open streams end with the task, and their agents reconnect to another."""


class Balancer(Construct):
    """Load balancer with its HTTPS listener and target group. `group`: security group of the tasks behind the balancer."""

    def __init__(self, scope: Construct, stage: Stage, network: Network, logs: s3.IBucket) -> None:
        super().__init__(scope, "Balancer")
        self._stage, self._vpc = stage, network.vpc
        inside = ec2.SecurityGroup(
            self, "Callers", vpc=network.vpc, description="The shared service", allow_all_outbound=False
        )
        inside.add_ingress_rule(network.agents, ec2.Port.tcp(443), "Agents of this network")
        self.group = ec2.SecurityGroup(
            self, "Behind", vpc=network.vpc, description="Tasks behind the balancer", allow_all_outbound=False
        )
        inside.add_egress_rule(self.group, ec2.Port.tcp(PORT), "Tasks")
        self.group.add_ingress_rule(inside, ec2.Port.tcp(PORT), "Balancer")
        self.balancer = self._made(network, inside, logs)
        self.target = self._target()
        self.balancer.add_listener(
            "Https",
            port=443,
            protocol=elb.ApplicationProtocol.HTTPS,
            ssl_policy=elb.SslPolicy.TLS13_RES,
            certificates=[acm.Certificate.from_certificate_arn(self, "Certificate", stage.shared.certificate_arn)],
            default_target_groups=[self.target],
            open=False,
        )

    @property
    def dimensions(self) -> dict[str, str]:
        balancer = self.balancer.load_balancer_full_name
        return {"TargetGroup": self.target.target_group_full_name, "LoadBalancer": balancer}

    def attach(self, service: ecs.FargateService, container: str) -> None:
        self.target.add_target(service.load_balancer_target(container_name=container, container_port=PORT))

    def _made(self, network: Network, group: ec2.ISecurityGroup, logs: s3.IBucket) -> elb.ApplicationLoadBalancer:
        balancer = elb.ApplicationLoadBalancer(
            self,
            "Balancer",
            vpc=network.vpc,
            internet_facing=False,
            vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
            security_group=group,
            idle_timeout=cdk.Duration.seconds(IDLE_SECONDS),
            drop_invalid_header_fields=True,
            deletion_protection=self._stage.keep,
        )
        balancer.log_access_logs(logs, "balancer")
        return balancer

    def _target(self) -> elb.ApplicationTargetGroup:
        """Routes a request to the task with the fewest open requests, streams included: any task can serve any request."""
        seconds = self._stage.stop_seconds + DRAIN_SPARE_S
        return elb.ApplicationTargetGroup(
            self,
            "Tasks",
            vpc=self._vpc,
            target_type=elb.TargetType.IP,
            port=PORT,
            protocol=elb.ApplicationProtocol.HTTP,
            deregistration_delay=cdk.Duration.seconds(seconds),
            load_balancing_algorithm_type=elb.TargetGroupLoadBalancingAlgorithmType.LEAST_OUTSTANDING_REQUESTS,
            health_check=elb.HealthCheck(
                path="/readyz",
                healthy_http_codes="200",
                interval=cdk.Duration.seconds(5),
                timeout=cdk.Duration.seconds(3),
                healthy_threshold_count=2,
                unhealthy_threshold_count=2,
            ),
        )
