"""WebSocket entry point: an API Gateway API that forwards messages to the agent over a VPC link."""

from __future__ import annotations

import json

import aws_cdk as cdk
from aws_cdk import aws_apigateway as rest
from aws_cdk import aws_apigatewayv2 as api
from aws_cdk import aws_certificatemanager as acm
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_elasticloadbalancingv2 as elb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.cdk.acknowledged import acknowledge
from infra.cdk.config import Stage
from infra.cdk.constructs.functions import Function, Sockets
from infra.cdk.constructs.https_door import NO_ACCESS_LOG
from infra.cdk.constructs.keys import Keys
from infra.cdk.constructs.network import HTTPS, INSIDE, Network
from infra.cdk.constructs.permissions import allow
from infra.cdk.constructs.targets import agents_health
from infra.cdk.removal import removal
from infra.door.api import AGENT_PORT, HEADERS, LOGGED, MESSAGE
from infra.door.limits import SECONDS_OF_BURST

PATH = "/door"
STAGE = "v1"
HANDED_OVER_MS = 5000
"""Milliseconds for the agent to accept a message; it answers later, through the callback."""


class SocketDoor(Construct):
    def __init__(
        self, scope: Construct, stage: Stage, network: Network, keys: Keys, behind: ec2.SecurityGroup, secret_arn: str
    ) -> None:
        super().__init__(scope, "Socket")
        self._stage, self._stack = stage, cdk.Stack.of(self)
        self.api = api.CfnApi(
            self,
            "Api",
            name=f"{stage.prefix}-door",
            protocol_type="WEBSOCKET",
            route_selection_expression="$request.body.action",
        )
        self.target = self._target(network)
        self._balancer = self._linked(network, behind)
        table = Sockets(self, stage).table
        self.open_sockets = table.ref
        door = self._door_function(keys, table)
        outside = self._outside_function(keys, table)
        self.functions = (door, outside)
        self._routes(door, secret_arn)
        self._staged(keys)

    @property
    def dimensions(self) -> dict[str, str]:
        return {"ApiId": self.api.ref, "Stage": STAGE}

    @property
    def target_dimensions(self) -> dict[str, str]:
        balancer = self._balancer.load_balancer_full_name
        return {"TargetGroup": self.target.target_group_full_name, "LoadBalancer": balancer}

    def _target(self, network: Network) -> elb.NetworkTargetGroup:
        return elb.NetworkTargetGroup(
            self,
            "Agents",
            vpc=network.vpc,
            target_type=elb.TargetType.IP,
            port=AGENT_PORT,
            protocol=elb.Protocol.TCP,
            preserve_client_ip=False,
            deregistration_delay=cdk.Duration.seconds(self._stage.stop_seconds),
            health_check=agents_health(elb.Protocol.HTTP),
        )

    def _linked(self, network: Network, behind: ec2.SecurityGroup) -> elb.NetworkLoadBalancer:
        """Makes the VPC link's load balancer. Its security group admits no traffic, but API Gateway's link is exempt."""
        group = ec2.SecurityGroup(
            self, "Link", vpc=network.vpc, description="The link of the sockets", allow_all_outbound=False
        )
        group.add_egress_rule(behind, ec2.Port.tcp(AGENT_PORT), "Agents")
        behind.add_ingress_rule(group, ec2.Port.tcp(AGENT_PORT), "Customers by sockets")
        balancer = elb.NetworkLoadBalancer(
            self,
            "Balancer",
            vpc=network.vpc,
            internet_facing=False,
            vpc_subnets=INSIDE,
            security_groups=[group],
            enforce_security_group_inbound_rules_on_private_link_traffic=False,
            cross_zone_enabled=True,
            deletion_protection=self._stage.keep,
        )
        balancer.add_listener(
            "Listener",
            port=HTTPS,
            protocol=elb.Protocol.TLS,
            ssl_policy=elb.SslPolicy.TLS13_RES,
            certificates=[acm.Certificate.from_certificate_arn(self, "Certificate", self._stage.door.certificate_arn)],
            default_target_groups=[self.target],
        )
        acknowledge(balancer, "AwsSolutions-ELB2", NO_ACCESS_LOG)
        return balancer

    def _door_function(self, keys: Keys, table: dynamodb.CfnTable) -> Function:
        door = self._stage.door
        environment = {
            "JWT_ISSUER": door.issuer,
            "JWT_AUDIENCE": ",".join(door.audiences),
            "JWT_JWKS_URL": door.jwks_url,
            "SOCKETS_TABLE": table.ref,
        }
        counts = allow("CountSockets", ("dynamodb:GetItem", "dynamodb:UpdateItem"), (table.attr_arn,))
        made = Function(self, self._stage, keys, "door", environment, [counts], "authorizer.py")
        lambda_.CfnPermission(
            self,
            "Asked",
            action="lambda:InvokeFunction",
            function_name=made.arn,
            principal="apigateway.amazonaws.com",
            source_arn=self._execute("*"),
            source_account=self._stack.account,
        )
        return made

    def _outside_function(self, keys: Keys, table: dynamodb.CfnTable) -> Function:
        stack = self._stack
        url = f"https://{self.api.ref}.execute-api.{stack.region}.{stack.url_suffix}/{STAGE}"
        environment = {"CALLBACK_URL": url, "JWT_JWKS_URL": self._stage.door.jwks_url, "SOCKETS_TABLE": table.ref}
        ways = [f"{STAGE}/{method}/@connections/*" for method in ("POST", "DELETE")]
        speaks = allow("SpeakToSockets", ("execute-api:ManageConnections",), tuple(self._execute(way) for way in ways))
        notes = allow("NoteFloods", ("dynamodb:PutItem",), (table.attr_arn,))
        notes.add_condition("ForAllValues:StringLike", {"dynamodb:LeadingKeys": ["closed *"]})  # no customer's count
        made = Function(self, self._stage, keys, "outside", environment, [speaks, notes], "outside.py")
        own = stack.get_logical_id(self.api)
        for way in ways:
            acknowledge(
                made.role,
                f"AwsSolutions-IAM5[Resource::arn:aws:execute-api:{stack.region}:<AWS::AccountId>:<{own}>/{way}]",
                "Connections of this one API: each has a name that API Gateway makes up.",
            )
        return made

    def _routes(self, door: Function, secret_arn: str) -> None:
        stack, function = self._stack, door.arn
        invoked = f"arn:{stack.partition}:apigateway:{stack.region}:lambda:path/2015-03-31/functions/{function}/invocations"
        authorizer = api.CfnAuthorizer(
            self,
            "Authorizer",
            api_id=self.api.ref,
            name="tokens",
            authorizer_type="REQUEST",
            authorizer_uri=invoked,
        )
        told = api.CfnIntegration(self, "Told", api_id=self.api.ref, integration_type="AWS_PROXY", integration_uri=invoked)
        model = api.CfnModel(
            self, "Message", api_id=self.api.ref, name="Message", content_type="application/json", schema=MESSAGE
        )
        self._route("Connect", "$connect", told, authorization_type="CUSTOM", authorizer_id=authorizer.ref)
        gone = self._route("Disconnect", "$disconnect", told)
        said = self._route(
            "Default",
            "$default",
            self._to_agents(secret_arn),
            model_selection_expression="$request.body.action",
            request_models={"$default": model.name},
        )
        said.add_resource_dependency(model)
        for each in (gone, said):
            why = "A socket's customer is proven once, at $connect: API Gateway takes an authorizer nowhere else."
            acknowledge(each, "AwsSolutions-APIG4", why)

    def _to_agents(self, secret_arn: str) -> api.CfnIntegration:
        """Makes the integration that forwards messages, with a secret that CloudFormation resolves. Readers of the API's
        definition can see the secret, but no client can send it, since a WebSocket message has no headers."""
        link = rest.CfnVpcLink(
            self, "VpcLink", name=f"{self._stage.prefix}-door", target_arns=[self._balancer.load_balancer_arn]
        )
        secret = f"{{{{resolve:secretsmanager:{secret_arn}:SecretString:::}}}}"
        return api.CfnIntegration(
            self,
            "Messages",
            api_id=self.api.ref,
            integration_type="HTTP_PROXY",
            integration_method="POST",
            integration_uri=f"https://{self._stage.door.domain}{PATH}",
            connection_type="VPC_LINK",
            connection_id=link.ref,
            timeout_in_millis=HANDED_OVER_MS,
            request_parameters={
                **{f"integration.request.header.{name}": value for name, value in HEADERS.items()},
                "integration.request.header.X-Door-Secret": f"'{secret}'",
                "integration.request.header.Content-Type": "'application/json'",
            },
        )

    def _route(self, name: str, key: str, to: api.CfnIntegration, **more: object) -> api.CfnRoute:
        target = f"integrations/{to.ref}"
        return api.CfnRoute(self, name, api_id=self.api.ref, route_key=key, target=target, **more)  # type: ignore[arg-type]

    def _staged(self, keys: Keys) -> None:
        stage = self._stage
        log = logs.LogGroup(
            self,
            "Log",
            log_group_name=f"/{stage.prefix}-door/access",
            retention=logs.RetentionDays.TWO_WEEKS,
            encryption_key=keys.shop,
            removal_policy=removal(stage),
        )
        most = stage.door.messages_a_second
        staged = api.CfnStage(
            self,
            "Stage",
            api_id=self.api.ref,
            stage_name=STAGE,
            auto_deploy=True,
            access_log_settings=api.CfnStage.AccessLogSettingsProperty(
                destination_arn=log.log_group_arn, format=json.dumps(LOGGED)
            ),
            default_route_settings=api.CfnStage.RouteSettingsProperty(
                throttling_rate_limit=most,
                throttling_burst_limit=most * SECONDS_OF_BURST,
                detailed_metrics_enabled=True,
                data_trace_enabled=False,
                logging_level="OFF",
            ),
        )
        url = f"wss://{self.api.ref}.execute-api.{self._stack.region}.{self._stack.url_suffix}/{STAGE}"
        if stage.door.socket_domain:
            self._named(stage.door.socket_domain, staged)
            url = f"wss://{stage.door.socket_domain}"
        cdk.CfnOutput(self, "Address", value=url, description="Where customers open sockets")

    def _named(self, domain: str, staged: api.CfnStage) -> None:
        named = api.CfnDomainName(
            self,
            "Domain",
            domain_name=domain,
            domain_name_configurations=[
                api.CfnDomainName.DomainNameConfigurationProperty(
                    certificate_arn=self._stage.door.certificate_arn, endpoint_type="REGIONAL", security_policy="TLS_1_2"
                )
            ],
        )
        mapped = api.CfnApiMapping(self, "Mapping", api_id=self.api.ref, domain_name=named.ref, stage=STAGE)
        mapped.add_resource_dependency(staged)
        cdk.CfnOutput(
            self, "DomainTarget", value=named.attr_regional_domain_name, description=f"What {domain} has to be a CNAME of"
        )

    def _execute(self, resource: str) -> str:
        return self._stack.format_arn(service="execute-api", resource=self.api.ref, resource_name=resource)


class GatewayLog(Construct):
    """Role with which API Gateway writes logs, one per account and region. It stays when the stage is deleted, as others may
    use it."""

    def __init__(self, scope: Construct) -> None:
        super().__init__(scope, "GatewayLog")
        managed = "service-role/AmazonAPIGatewayPushToCloudWatchLogs"
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("apigateway.amazonaws.com"),
            managed_policies=[iam.ManagedPolicy.from_aws_managed_policy_name(managed)],
        )
        acknowledge(
            role,
            f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{managed}]",
            "API Gateway takes this policy, and tries it when the role is set.",
        )
        account = rest.CfnAccount(self, "Account", cloud_watch_role_arn=role.role_arn)
        for each in (account, role):
            each.apply_removal_policy(cdk.RemovalPolicy.RETAIN)
