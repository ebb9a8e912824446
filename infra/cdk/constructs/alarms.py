"""Creates the service's alarms and dashboard from their definitions in infra/alarms and infra/dashboards."""

from __future__ import annotations

import json

from aws_cdk import CfnResource, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.alarms.cloudwatch import Deployed, Resource, alarms, rollback_names
from infra.alarms.native import AwsResources, natives
from infra.cdk.config import Stage
from infra.cdk.constructs.balancer import Balancer
from infra.cdk.stacks.foundation import Foundation
from infra.dashboards.cloudwatch import body
from tools.store.backends.dynamodb.tables import TABLES

GIB = 2**30


class Alarms(Construct):
    """Alarms and dashboard. `made`: alarms by logical id. `rollback`: names of the alarms that roll a deployment back."""

    def __init__(self, scope: Construct, stage: Stage, foundation: Foundation, balancer: Balancer | None = None) -> None:
        super().__init__(scope, "Alarms")
        topics = foundation.topics
        where = Deployed(stage.service, stage.namespace, page=topics.page.topic_arn, ticket=topics.ticket.topic_arn)
        self.rollback = rollback_names(where)
        self.made: dict[str, CfnResource] = {}
        for name, each in {**alarms(where), **natives(where, self._natives(stage, foundation, balancer))}.items():
            self.made[name] = make(self, name, each)
            for needed in each.get("DependsOn", ()):
                self.made[name].add_resource_dependency(self.made[needed])
        shown = json.dumps(body(stage.namespace, stage.region, stage.service), sort_keys=True)
        cloudwatch.CfnDashboard(self, "Dashboard", dashboard_name=stage.service, dashboard_body=shown)

    def _natives(self, stage: Stage, foundation: Foundation, balancer: Balancer | None) -> AwsResources:
        return AwsResources(
            cluster=stage.prefix,
            service=stage.service,
            least_tasks=stage.scaling.least,
            tables=TABLES,
            table_prefix=stage.table_prefix,
            cache=foundation.data.cache.name,
            cache_bytes=stage.cache.most_gb * GIB,
            account=Stack.of(self).account,
            search_group=foundation.data.search.group_name,
            search_group_id=foundation.data.search.group_id,
            search_units=stage.search.most_search,
            indexing_units=stage.search.most_indexing,
            balancer=balancer.dimensions if balancer else None,
        )


def make(scope: Construct, name: str, resource: Resource) -> CfnResource:
    return CfnResource(scope, name, type=resource["Type"], properties=resource["Properties"])
