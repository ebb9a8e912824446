from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_elasticloadbalancingv2 as elb


def agents_health(protocol: elb.Protocol) -> elb.HealthCheck:
    """Returns the load balancers' health check of agents. An agent that cannot reach its store is healthy: it tells
    customers so, and another agent would not reach the store either."""
    return elb.HealthCheck(
        path="/healthz",
        protocol=protocol,
        healthy_http_codes="200",
        interval=cdk.Duration.seconds(5),
        timeout=cdk.Duration.seconds(3),
        healthy_threshold_count=2,
        unhealthy_threshold_count=2,
    )
