"""HTTPS entry point with server-sent events: a public load balancer that forwards one path, for requests with a token."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_elasticloadbalancingv2 as elb
from constructs import Construct

from infra.cdk.acknowledged import acknowledge
from infra.cdk.config import Stage
from infra.cdk.constructs.firewall import Firewall
from infra.cdk.constructs.keys import Keys
from infra.cdk.constructs.network import HTTPS, Network
from infra.cdk.constructs.targets import agents_health
from infra.door.api import AGENT_PORT
from infra.door.limits import IDLE_SECONDS

PATH = "/turns"
HSTS = "max-age=31536000"
NO_ACCESS_LOG = "Its lines have addresses and queries, which no setting leaves out; refusals are in the firewall's log."


class HttpsDoor(Construct):
    """Public load balancer. Port 80 is closed: a redirect would come after the token was sent unencrypted."""

    def __init__(self, scope: Construct, stage: Stage, network: Network, keys: Keys, behind: ec2.SecurityGroup) -> None:
        super().__init__(scope, "Https")
        self._stage = stage
        group = ec2.SecurityGroup(
            self, "Customers", vpc=network.vpc, description="The door of customers", allow_all_outbound=False
        )
        group.add_ingress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(HTTPS), "Everybody")
        group.add_egress_rule(behind, ec2.Port.tcp(AGENT_PORT), "Agents")
        behind.add_ingress_rule(group, ec2.Port.tcp(AGENT_PORT), "Customers by HTTPS")
        acknowledge(group, "AwsSolutions-EC23", "It is the door: everybody may knock, and it opens to whom has a token.")
        self.balancer = self._balancer(network, group)
        self.target = self._target(network)
        self._listener()
        Firewall(self, stage, keys, self.balancer.load_balancer_arn)

    @property
    def dimensions(self) -> dict[str, str]:
        balancer = self.balancer.load_balancer_full_name
        return {"TargetGroup": self.target.target_group_full_name, "LoadBalancer": balancer}

    def _balancer(self, network: Network, group: ec2.ISecurityGroup) -> elb.ApplicationLoadBalancer:
        balancer = elb.ApplicationLoadBalancer(
            self,
            "Balancer",
            vpc=network.vpc,
            internet_facing=True,
            vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC),
            security_group=group,
            idle_timeout=cdk.Duration.seconds(IDLE_SECONDS),
            drop_invalid_header_fields=True,
            desync_mitigation_mode=elb.DesyncMitigationMode.STRICTEST,
            deletion_protection=self._stage.keep,
        )
        acknowledge(balancer, "AwsSolutions-ELB2", NO_ACCESS_LOG)
        return balancer

    def _target(self, network: Network) -> elb.ApplicationTargetGroup:
        return elb.ApplicationTargetGroup(
            self,
            "Agents",
            vpc=network.vpc,
            target_type=elb.TargetType.IP,
            port=AGENT_PORT,
            protocol=elb.ApplicationProtocol.HTTP,
            deregistration_delay=cdk.Duration.seconds(self._stage.stop_seconds),
            load_balancing_algorithm_type=elb.TargetGroupLoadBalancingAlgorithmType.LEAST_OUTSTANDING_REQUESTS,
            health_check=agents_health(elb.Protocol.HTTP),
        )

    def _listener(self) -> None:
        """Adds the listener, which forwards only `POST /turns` with a valid token. The agent checks the token's audience,
        since issuers write it as a string, as a list, or under another name."""
        door = self._stage.door
        listener = self.balancer.add_listener(
            "Listener",
            port=HTTPS,
            protocol=elb.ApplicationProtocol.HTTPS,
            ssl_policy=elb.SslPolicy.TLS13_RES,
            certificates=[acm.Certificate.from_certificate_arn(self, "Certificate", door.certificate_arn)],
            default_action=elb.ListenerAction.fixed_response(
                404, content_type="application/json", message_body='{"error": "there is nothing here"}'
            ),
            open=False,
        )
        listener.set_attribute("routing.http.response.strict_transport_security.header_value", HSTS)
        listener.set_attribute("routing.http.response.server.enabled", "false")
        elb.ApplicationListenerRule(
            self,
            "Questions",
            listener=listener,
            priority=1,
            conditions=[
                elb.ListenerCondition.path_patterns([PATH]),
                elb.ListenerCondition.http_request_methods(["POST"]),
            ],
            action=elb.ListenerAction.authenticate_jwt(
                issuer=door.issuer, jwks_endpoint=door.jwks_url, next=elb.ListenerAction.forward([self.target])
            ),
        )
