"""The ways of a customer through the templates of a stage, link by link, from what listens to the port of a container. A link that
is missing, or leads elsewhere, is an AssertionError that names it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.door.api import AGENT_PORT as PORT
from tests.support.cdk import Template

Json = dict[str, Any]
EVERYBODY = "0.0.0.0/0"


def https_way(agents: Template, foundation: Template) -> list[str]:
    """The links of questions over HTTPS, in order."""
    name, balancer = _one(agents, "AWS::ElasticLoadBalancingV2::LoadBalancer", Scheme="internet-facing")
    _leads_outside(agents, foundation, balancer["Subnets"])
    listener, listens = _one(agents, "AWS::ElasticLoadBalancingV2::Listener", LoadBalancerArn={"Ref": name})
    assert (listens["Port"], listens["Protocol"]) == (443, "HTTPS"), "the listener is not that of HTTPS"
    rule, ruled = _one(agents, "AWS::ElasticLoadBalancingV2::ListenerRule", ListenerArn={"Ref": listener})
    assert [each["Type"] for each in ruled["Actions"]] == ["jwt-validation", "forward"], "a token comes before all"
    target = ruled["Actions"][1]["TargetGroupArn"]["Ref"]
    group = _group(balancer)
    assert [(each["CidrIp"], each["FromPort"]) for each in _rules(agents, group, "Ingress")] == [(EVERYBODY, 443)]
    return [name, listener, rule, *_to_the_port(agents, target, group)]


def socket_way(agents: Template) -> list[str]:
    """The links of a message on a socket, in order."""
    name, _ = _one(agents, "AWS::ApiGatewayV2::Api", ProtocolType="WEBSOCKET")
    stage, staged = _one(agents, "AWS::ApiGatewayV2::Stage", ApiId={"Ref": name})
    assert staged["AutoDeploy"] is True, "the stage has no deployment"
    _let_in(agents, name)
    route, routed = _one(agents, "AWS::ApiGatewayV2::Route", RouteKey="$default", ApiId={"Ref": name})
    integration = _integration(agents, routed)
    handed = agents.body["Resources"][integration]["Properties"]
    assert (handed["IntegrationType"], handed["ConnectionType"]) == ("HTTP_PROXY", "VPC_LINK"), "it is not handed on inside"
    link = handed["ConnectionId"]["Ref"]
    (balancer,) = [each["Ref"] for each in agents.body["Resources"][link]["Properties"]["TargetArns"]]
    inside = agents.body["Resources"][balancer]["Properties"]
    assert (inside["Scheme"], inside["Type"]) == ("internal", "network"), "the link's balancer is not inside"
    assert inside["EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic"] == "off", "the link itself is refused"
    listener, listens = _one(agents, "AWS::ElasticLoadBalancingV2::Listener", LoadBalancerArn={"Ref": balancer})
    assert (listens["Port"], listens["Protocol"]) == (443, "TLS"), "the link's listener is not what it is asked by"
    assert handed["IntegrationUri"].startswith("https://"), "API Gateway asks another port"
    target = listens["DefaultActions"][0]["TargetGroupArn"]["Ref"]
    group = _group(inside)
    assert list(_rules(agents, group, "Ingress")) == [], "more than the link comes in"
    return [name, stage, route, integration, link, balancer, listener, *_to_the_port(agents, target, group)]


def _let_in(agents: Template, api: str) -> None:
    """$connect asks a function that API Gateway may invoke."""
    _, route = _one(agents, "AWS::ApiGatewayV2::Route", RouteKey="$connect", ApiId={"Ref": api})
    assert route["AuthorizationType"] == "CUSTOM", "anybody may connect"
    authorizer = agents.body["Resources"][route["AuthorizerId"]["Ref"]]["Properties"]
    asked = [part["Fn::GetAtt"][0] for part in authorizer["AuthorizerUri"]["Fn::Join"][1] if "Fn::GetAtt" in part]
    _, allowed = _one(agents, "AWS::Lambda::Permission", Principal="apigateway.amazonaws.com")
    assert asked == [allowed["FunctionName"]["Fn::GetAtt"][0]], "API Gateway may not ask the authorizer"
    assert {"Ref": api} in allowed["SourceArn"]["Fn::Join"][1], "another API may ask it"


def _to_the_port(agents: Template, target: str, from_group: str) -> Iterator[str]:
    """From a target group on; both ways end alike."""
    aimed = agents.body["Resources"][target]["Properties"]
    assert (aimed["TargetType"], aimed["Port"]) == ("ip", PORT), "the target group aims at another port"
    assert (aimed["HealthCheckProtocol"], aimed["HealthCheckPath"]) == ("HTTP", "/healthz"), "its health is not the agent's"
    service, serves = _one(agents, "AWS::ECS::Service")
    (entry,) = [each for each in serves.get("LoadBalancers", ()) if each["TargetGroupArn"] == {"Ref": target}]
    task = agents.body["Resources"][serves["TaskDefinition"]["Ref"]]["Properties"]
    (container,) = [each for each in task["ContainerDefinitions"] if each["Name"] == entry["ContainerName"]]
    mapped = [(each["ContainerPort"], each["Protocol"]) for each in container.get("PortMappings", ())]
    assert mapped == [(entry["ContainerPort"], "tcp")] == [(PORT, "tcp")], "the container's port is not mapped"
    command = container["Command"]
    assert command[command.index("--host") + 1] == "0.0.0.0", "it listens on its loopback alone"
    assert command[command.index("--port") + 1] == str(PORT), "it listens on another port"
    groups = serves["NetworkConfiguration"]["AwsvpcConfiguration"]["SecurityGroups"]
    own = {each["Fn::GetAtt"][0] for each in groups if "Fn::GetAtt" in each}
    out = {_peer(each, "DestinationSecurityGroupId") for each in _rules(agents, from_group, "Egress") if _is(each, PORT)}
    assert out & own, "the balancer may not speak to the tasks"
    (group,) = out & own
    let_in = {_peer(each, "SourceSecurityGroupId") for each in _rules(agents, group, "Ingress") if _is(each, PORT)}
    assert from_group in let_in, "the tasks do not let the balancer in"
    yield from (target, service, entry["ContainerName"], str(entry["ContainerPort"]))


def _leads_outside(agents: Template, foundation: Template, subnets: list[Json]) -> None:
    """Each subnet has a route to the gateway to the internet."""
    exported = {
        each["Export"]["Name"]: each["Value"]["Ref"]
        for each in foundation.body["Outputs"].values()
        if "Export" in each and "Ref" in each["Value"]
    }
    tables = {
        each["Properties"]["SubnetId"]["Ref"]: each["Properties"]["RouteTableId"]["Ref"]
        for each in foundation.of("AWS::EC2::SubnetRouteTableAssociation").values()
    }
    routes = {
        each["Properties"]["RouteTableId"]["Ref"]
        for each in foundation.of("AWS::EC2::Route").values()
        if each["Properties"].get("DestinationCidrBlock") == EVERYBODY and "GatewayId" in each["Properties"]
    }
    assert subnets
    for subnet in subnets:
        assert tables[exported[subnet["Fn::ImportValue"]]] in routes, "a subnet of the door has no way to the internet"


def _one(template: Template, kind: str, **said: Any) -> tuple[str, Json]:
    found = [
        (name, each["Properties"])
        for name, each in template.of(kind).items()
        if all(each["Properties"].get(key) == value for key, value in said.items())
    ]
    assert len(found) == 1, f"{len(found)} of {kind} where one is needed: {said}"
    return found[0]


def _integration(template: Template, route: Json) -> str:
    (found,) = [part["Ref"] for part in route["Target"]["Fn::Join"][1] if "Ref" in part]
    assert found in template.body["Resources"], "a route leads to no integration"
    return str(found)


def _group(balancer: Json) -> str:
    (group,) = balancer["SecurityGroups"]
    return str(group["Fn::GetAtt"][0])


def _rules(template: Template, group: str, direction: str) -> Iterator[Json]:
    """Those of a group, wherever they stand."""
    yield from template.body["Resources"][group]["Properties"].get(f"SecurityGroup{direction}", ())
    for each in template.of(f"AWS::EC2::SecurityGroup{direction}").values():
        if each["Properties"]["GroupId"].get("Fn::GetAtt", [None])[0] == group:
            yield each["Properties"]


def _is(rule: Json, port: int) -> bool:
    return bool(rule["FromPort"] == rule["ToPort"] == port)


def _peer(rule: Json, key: str) -> str:
    return str(rule.get(key, {}).get("Fn::GetAtt", [""])[0])
