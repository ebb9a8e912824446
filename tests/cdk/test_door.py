"""Customers reach the agent, and nobody reaches the server: walked through the templates, and each link is missed when it is gone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from infra.cdk.stages import STAGES
from infra.door.api import AGENT_PORT as PORT
from infra.door.api import HEADERS, LOGGED, MESSAGE
from infra.door.limits import IDLE_SECONDS, MOST_CHARACTERS, SECONDS_OF_BURST
from server.config.settings import ROOT
from tests.cdk.test_service import attributes
from tests.cdk.ways import https_way, socket_way
from tests.support.cdk import Template, containers, environment, read

Json = dict[str, Any]
Way = Callable[[Template, Template], list[str]]
WAYS: dict[str, Way] = {"https": https_way, "sockets": lambda agents, foundation: socket_way(agents)}
AGENT, SERVER = "agent", "manga-tools"


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    return WAYS[str(request.param)]


def changed(template: Template, change: Callable[[Json], None]) -> Template:
    body = deepcopy(template.body)
    change(body["Resources"])
    return replace(template, body=body)


def remover(name: str) -> Callable[[Json], None]:
    def remove(resources: Json) -> None:
        del resources[name]

    return remove


def of(resources: Json, kind: str) -> Iterator[Json]:
    return (each["Properties"] for each in resources.values() if each["Type"] == kind)


def test_a_customer_comes_from_the_listener_to_the_agent_s_port(agents: Template, foundation: Template, way: Way) -> None:
    links = way(agents, foundation)
    assert links[-2:] == [AGENT, str(PORT)]
    assert len(links) == len(set(links))


def test_each_resource_on_the_way_is_missed(agents: Template, foundation: Template, way: Way) -> None:
    for link in way(agents, foundation)[:-2]:
        without = changed(agents, remover(link))
        with pytest.raises((AssertionError, KeyError, ValueError)):
            way(without, foundation)


def port_mapping(resources: Json) -> None:
    for task in of(resources, "AWS::ECS::TaskDefinition"):
        for each in task["ContainerDefinitions"]:
            each.pop("PortMappings", None)


def loopback(resources: Json) -> None:
    for task in of(resources, "AWS::ECS::TaskDefinition"):
        for each in task["ContainerDefinitions"]:
            each["Command"] = ["127.0.0.1" if word == "0.0.0.0" else word for word in each.get("Command", ())]


def balancers_of_service(resources: Json) -> None:
    (service,) = of(resources, "AWS::ECS::Service")
    service["LoadBalancers"] = []


def groups_of_service(resources: Json) -> None:
    (service,) = of(resources, "AWS::ECS::Service")
    groups = service["NetworkConfiguration"]["AwsvpcConfiguration"]["SecurityGroups"]
    groups[:] = [each for each in groups if "Fn::GetAtt" not in each]


def rules(direction: str) -> Callable[[Json], None]:
    def remove(resources: Json) -> None:
        for name in [name for name, each in resources.items() if each["Type"] == f"AWS::EC2::SecurityGroup{direction}"]:
            if resources[name]["Properties"]["FromPort"] == PORT:
                del resources[name]

    return remove


def health(resources: Json) -> None:
    for each in of(resources, "AWS::ElasticLoadBalancingV2::TargetGroup"):
        each["HealthCheckPath"] = "/readyz"


GONE = {
    "port mapping": port_mapping,
    "address": loopback,
    "load balancers of the service": balancers_of_service,
    "security group of the tasks": groups_of_service,
    "ingress": rules("Ingress"),
    "egress": rules("Egress"),
    "health": health,
}


@pytest.mark.parametrize("gone", GONE.values(), ids=list(GONE))
def test_what_is_no_resource_of_its_own_is_missed_too(
    agents: Template, foundation: Template, way: Way, gone: Callable[[Json], None]
) -> None:
    with pytest.raises((AssertionError, ValueError)):
        way(changed(agents, gone), foundation)


def test_a_way_without_a_token_is_none(agents: Template, foundation: Template) -> None:
    def no_token(resources: Json) -> None:
        for each in of(resources, "AWS::ElasticLoadBalancingV2::ListenerRule"):
            each["Actions"] = [action for action in each["Actions"] if action["Type"] == "forward"]
        for each in of(resources, "AWS::ApiGatewayV2::Route"):
            each.pop("AuthorizationType", None)

    for each in WAYS.values():
        with pytest.raises((AssertionError, KeyError)):
            each(changed(agents, no_token), foundation)


def test_nothing_leads_to_the_server(templates: dict[str, Template]) -> None:
    """No port of it is mapped in a pod, where it is on loopback; behind the wall a balancer inside leads to it, which agents
    alone may speak to."""
    for name, template in templates.items():
        servers = [each for each, _ in containers(template) if each["Name"] == SERVER]
        served = [
            entry for each in of(template.body["Resources"], "AWS::ECS::Service") for entry in each.get("LoadBalancers", ())
        ]
        if name != "shared":
            assert all("PortMappings" not in each for each in servers)
            assert all(environment(template, each).get("MANGA_HOST", "127.0.0.1") == "127.0.0.1" for each in servers)
            assert {entry["ContainerName"] for entry in served} <= {AGENT}
            continue
        assert template.only("AWS::ElasticLoadBalancingV2::LoadBalancer")["Scheme"] == "internal"
        assert {entry["ContainerName"] for entry in served} == {SERVER}


def test_the_world_is_let_in_at_the_door_alone(templates: dict[str, Template]) -> None:
    """Everywhere else a rule names a group, or what AWS keeps."""
    open_ones = [
        (name, rule["FromPort"])
        for name, template in templates.items()
        for rule in (
            *(
                each
                for group in of(template.body["Resources"], "AWS::EC2::SecurityGroup")
                for each in group.get("SecurityGroupIngress", ())
            ),
            *of(template.body["Resources"], "AWS::EC2::SecurityGroupIngress"),
        )
        if "CidrIp" in rule or "CidrIpv6" in rule
    ]
    assert open_ones == [("pod" if "pod" in templates else "agents", 443)]


def test_tasks_have_no_way_out(foundation: Template, agents: Template) -> None:
    """The gateway to the internet is for the subnets of the door: those of tasks have no route to it, and there is no NAT."""
    assert foundation.of("AWS::EC2::NatGateway") == {}
    inside = {name for name in foundation.of("AWS::EC2::RouteTable") if "inside" in name}
    routed = {each["RouteTableId"]["Ref"] for each in of(foundation.body["Resources"], "AWS::EC2::Route")}
    assert inside
    assert not inside & routed
    (service,) = of(agents.body["Resources"], "AWS::ECS::Service")
    subnets = service["NetworkConfiguration"]["AwsvpcConfiguration"]["Subnets"]
    assert all("inside" in json.dumps(each) for each in subnets)
    assert all(each["MapPublicIpOnLaunch"] is False for each in of(foundation.body["Resources"], "AWS::EC2::Subnet"))


def test_the_balancer_speaks_tls_and_answers_what_is_no_question_itself(agents: Template, stage: str) -> None:
    own = STAGES[stage].door
    (listener,) = [
        each for each in of(agents.body["Resources"], "AWS::ElasticLoadBalancingV2::Listener") if each["Protocol"] == "HTTPS"
    ]
    assert listener["Certificates"] == [{"CertificateArn": own.certificate_arn}]
    assert "TLS13" in listener["SslPolicy"]
    (other,) = listener["DefaultActions"]
    assert (other["Type"], other["FixedResponseConfig"]["StatusCode"]) == ("fixed-response", "404")
    said = attributes(listener, "ListenerAttributes")
    assert said["routing.http.response.strict_transport_security.header_value"].startswith("max-age=")
    rule = agents.only("AWS::ElasticLoadBalancingV2::ListenerRule")
    fields = {each["Field"]: each for each in rule["Conditions"]}
    assert fields["path-pattern"]["PathPatternConfig"]["Values"] == ["/turns"]
    assert fields["http-request-method"]["HttpRequestMethodConfig"]["Values"] == ["POST"]
    checked = rule["Actions"][0]["JwtValidationConfig"]
    assert checked == {"Issuer": own.issuer, "JwksEndpoint": own.jwks_url}
    (balancer,) = [
        each
        for each in of(agents.body["Resources"], "AWS::ElasticLoadBalancingV2::LoadBalancer")
        if each["Type"] == "application"
    ]
    said = attributes(balancer, "LoadBalancerAttributes")
    assert int(said["idle_timeout.timeout_seconds"]) == IDLE_SECONDS < 75, "the agent closes later"
    assert "access_logs.s3.enabled" not in said, "lines of it have addresses and queries"


def test_the_firewall_stands_before_the_balancer_and_keeps_no_token(agents: Template, stage: str) -> None:
    acl, association = agents.only("AWS::WAFv2::WebACL"), agents.only("AWS::WAFv2::WebACLAssociation")
    balancer = agents.body["Resources"][association["ResourceArn"]["Ref"]]["Properties"]
    assert balancer["Scheme"] == "internet-facing"
    listed = {each["Name"]: each for each in acl["Rules"]}
    assert [each["Priority"] for each in acl["Rules"]] == list(range(len(acl["Rules"])))
    managed = [each["Statement"]["ManagedRuleGroupStatement"]["Name"] for each in acl["Rules"][:3]]
    assert managed == [
        "AWSManagedRulesAmazonIpReputationList",
        "AWSManagedRulesCommonRuleSet",
        "AWSManagedRulesKnownBadInputsRuleSet",
    ]
    flood = listed["Flood"]["Statement"]["RateBasedStatement"]
    assert (flood["AggregateKeyType"], flood["Limit"]) == ("IP", STAGES[stage].door.requests_an_address)
    assert {each["Name"]: each["Action"]["Block"]["CustomResponse"]["ResponseCode"] for each in acl["Rules"][3:]} == {
        "Large": 413,
        "Flood": 429,
    }
    assert not any(each["VisibilityConfig"]["SampledRequestsEnabled"] for each in acl["Rules"])
    logged = agents.only("AWS::WAFv2::LoggingConfiguration")
    assert {"SingleHeader": {"Name": "authorization"}} in logged["RedactedFields"]
    assert {"QueryString": {}} in logged["RedactedFields"]
    assert (logged["LoggingFilter"]["DefaultBehavior"], len(logged["LoggingFilter"]["Filters"])) == ("DROP", 1)


def test_the_customer_of_a_message_is_the_authorizer_s_and_nobody_else_s(agents: Template, stage: str) -> None:
    (handed,) = [
        each
        for each in of(agents.body["Resources"], "AWS::ApiGatewayV2::Integration")
        if each["IntegrationType"] == "HTTP_PROXY"
    ]
    mapped = {name.removeprefix("integration.request.header."): value for name, value in handed["RequestParameters"].items()}
    secret = agents.value(mapped.pop("X-Door-Secret"))
    assert secret.startswith("'{{resolve:secretsmanager:")
    assert secret.endswith(":SecretString:::}}'"), "the value itself is in no template"
    assert mapped.pop("Content-Type") == "'application/json'"
    assert mapped == HEADERS
    assert "body" not in json.dumps(mapped)
    assert handed["IntegrationUri"] == f"https://{STAGES[stage].door.domain}/door"
    (container,) = [each for each, _ in containers(agents) if each["Name"] == AGENT]
    assert "AGENT_DOOR_SECRET" in {each["Name"] for each in container["Secrets"]}


def test_the_stage_lets_so_many_messages_through_and_logs_no_person(agents: Template, stage: str) -> None:
    staged = agents.only("AWS::ApiGatewayV2::Stage")
    most = STAGES[stage].door.messages_a_second
    bounds = staged["DefaultRouteSettings"]
    assert (bounds["ThrottlingRateLimit"], bounds["ThrottlingBurstLimit"]) == (most, most * SECONDS_OF_BURST)
    assert (bounds["DataTraceEnabled"], bounds["LoggingLevel"]) == (False, "OFF")
    assert json.loads(staged["AccessLogSettings"]["Format"]) == LOGGED
    assert set(LOGGED.values()) == {
        "$context.requestTimeEpoch", "$context.requestId", "$context.routeKey", "$context.eventType", "$context.status",
        "$context.integrationLatency", "$context.authorizer.status",
    }  # fmt: skip
    model = agents.only("AWS::ApiGatewayV2::Model")["Schema"]
    assert model == MESSAGE
    assert (model["additionalProperties"], model["properties"]["text"]["maxLength"]) == (False, MOST_CHARACTERS)


def test_the_functions_are_the_files_that_are_tested(agents: Template, stage: str) -> None:
    made = {each["FunctionName"]: each for each in of(agents.body["Resources"], "AWS::Lambda::Function")}
    prefix = STAGES[stage].prefix
    assert made.keys() == {f"{prefix}-door", f"{prefix}-outside"}
    for name, source in (("door", "authorizer.py"), ("outside", "outside.py")):
        function = made[f"{prefix}-{name}"]
        assert function["Code"] == {"ZipFile": (ROOT / "infra/door" / source).read_text("utf-8")}
        assert "VpcConfig" not in function, "it would have no way to the issuer"
        assert function["Environment"]["Variables"]["JWT_JWKS_URL"] == STAGES[stage].door.jwks_url
    (own,) = [environment(agents, each) for each, _ in containers(agents) if each["Name"] == AGENT]
    assert own["AGENT_CALLBACK_URL"] == own["AGENT_JWT_JWKS_URL"] == f"lambda:{prefix}-outside"


def test_the_agent_is_told_its_model_and_whose_tokens_it_believes(agents: Template, stage: str) -> None:
    own = STAGES[stage]
    (container,) = [each for each, _ in containers(agents) if each["Name"] == AGENT]
    told = environment(agents, container)
    assert container["Command"][-2:] == ["--bedrock", own.model]
    assert "anthropic" in own.model
    assert not {"AGENT_PROMPT_CACHE", "AGENT_TOOLS", "AGENT_TURN_CALLS"} & told.keys()
    assert (told["AGENT_TEMPERATURE"], told["AGENT_MAX_TOKENS"]) == (f"{own.temperature:g}", str(own.max_tokens))
    assert (told["AGENT_JWT_ISSUER"], told["AGENT_JWT_AUDIENCE"]) == (own.door.issuer, ",".join(own.door.audiences))


def test_agents_behind_the_wall_find_the_service_by_its_name(synthesised: Any) -> None:
    prod = read(synthesised, "prod")
    shared, agents = prod["shared"], prod["agents"]
    zone, record = shared.only("AWS::Route53::HostedZone"), shared.only("AWS::Route53::RecordSet")
    domain = STAGES["prod"].shared.domain
    assert (zone["Name"], record["Name"], len(zone["VPCs"])) == (f"{domain}.", f"{domain}.", 1)
    (container,) = [each for each, _ in containers(agents) if each["Name"] == AGENT]
    assert f"https://{domain}/sse" in container["Command"]
    assert {each["Name"] for each in container["Secrets"]} == {"AGENT_DOOR_SECRET", "AGENT_STORE_TOKEN"}


def test_what_goes_wrong_at_the_door_tells_somebody(agents: Template, stage: str) -> None:
    """Both ways are watched, each by what is deployed; a deployment of agents is rolled back by either."""
    made = {
        name: each
        for name, each in agents.of("AWS::CloudWatch::Alarm").items()
        if "MangaDoor" in each["Properties"]["AlarmName"]
    }
    assert len(made) == 4
    assert all(each["Properties"]["AlarmActions"] for each in made.values())
    watched = json.dumps([each["Properties"] for each in made.values()])
    for kind in ("AWS::ElasticLoadBalancingV2::TargetGroup", "AWS::ElasticLoadBalancingV2::LoadBalancer"):
        assert all(f'"{name}"' in watched for name in agents.of(kind))
    (service,) = of(agents.body["Resources"], "AWS::ECS::Service")
    rolled = service["DeploymentConfiguration"]["Alarms"]["AlarmNames"]
    prefix = STAGES[stage].agents
    assert {f"{prefix}-MangaDoorFails-https", f"{prefix}-MangaDoorFails-sockets"} <= set(rolled)
    (resource,) = agents.of("AWS::ECS::Service").values()
    assert {name for name, each in made.items() if each["Properties"]["AlarmName"] in rolled} <= set(resource["DependsOn"])
    missing = [
        each for each in of(agents.body["Resources"], "AWS::CloudWatch::Alarm") if "AgentsMissing" in each["AlarmName"]
    ]
    assert len(missing) == STAGES[stage].walled
