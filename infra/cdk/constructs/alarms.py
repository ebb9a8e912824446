"""The alarms and the dashboard of one shape, from their definitions in infra/alarms and infra/dashboards."""

from __future__ import annotations

import json

from aws_cdk import CfnResource
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.alarms.cloudwatch import Deployed, alarms, rollback_names
from infra.cdk.config import Stage
from infra.cdk.constructs.topics import Topics
from infra.dashboards.cloudwatch import body


class Alarms(Construct):
    """`rollback` names those that end a deployment; a service has to wait for `made`."""

    def __init__(self, scope: Construct, stage: Stage, prefix: str, namespace: str, topics: Topics) -> None:
        super().__init__(scope, "Alarms")
        where = Deployed(prefix, namespace, page=topics.page.topic_arn, ticket=topics.ticket.topic_arn)
        self.rollback = rollback_names(where)
        self.made: dict[str, CfnResource] = {}
        for name, each in alarms(where).items():
            self.made[name] = CfnResource(self, name, type=each["Type"], properties=each["Properties"])
            for needed in each.get("DependsOn", ()):
                self.made[name].add_resource_dependency(self.made[needed])
        shown = json.dumps(body(namespace, stage.region), sort_keys=True)
        cloudwatch.CfnDashboard(self, "Dashboard", dashboard_name=prefix, dashboard_body=shown)
