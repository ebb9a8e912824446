"""The flags document, which decides for whom each tool is on, in AWS AppConfig with a gradual rollout. Tasks read it from a
sidecar, AppConfig's agent.

AppConfig validates by JSON Schema draft 4, which covers most of the flags' schema (2020-12), and never deploys a document
that it rejects. The server checks the whole schema, and keeps the last valid document. Alarms like those of a release roll
back a document that is valid but harmful."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_appconfig as appconfig
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.alarms.cloudwatch import Deployed, silent_rollback_alarms
from infra.cdk.acknowledged import acknowledge
from infra.cdk.config import Stage
from server.config.settings import ROOT

PORT = 2772
NO_FLAGS = "{}"
"""Document that leaves every tool at its default."""
SCHEMA = Path("server/flags/schema.json")
DRAFT = "http://json-schema.org/draft-04/schema#"
NEWER = ("propertyNames", "if", "then", "dependentSchemas", "default", "description", "title")
"""Keywords that draft 4 lacks, or that do not constrain a document."""


def draft_4(schema: Any) -> Any:
    """Returns the schema without the keywords of `NEWER`. Keys of `properties`, `patternProperties` and `$defs` stay."""
    if isinstance(schema, list):
        return [draft_4(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {word: draft_4(said) for word, said in schema.items() if word not in NEWER}
    for names in ("properties", "patternProperties", "$defs"):
        if names in schema:
            kept[names] = {name: draft_4(said) for name, said in schema[names].items()}
    return kept | ({"$schema": DRAFT} if isinstance(schema.get("$schema"), str) else {})


class Flags(Construct):
    """AppConfig application with the flags document. `url`: value of MANGA_FLAGS_URL. `prefetched`: path that AppConfig's
    agent fetches when it starts. `arn`: resource that the agent reads. The outputs are what a kill switch names
    (infra/RUNBOOKS.md)."""

    def __init__(self, scope: Construct, stage: Stage) -> None:
        super().__init__(scope, "Flags")
        application = appconfig.CfnApplication(self, "Application", name=stage.prefix)
        environment = appconfig.CfnEnvironment(
            self, "Environment", application_id=application.ref, name=stage.name, monitors=self._monitors(stage)
        )
        schema = json.dumps(draft_4(json.loads((ROOT / SCHEMA).read_text("utf-8"))), separators=(",", ":"))
        profile = appconfig.CfnConfigurationProfile(
            self,
            "Profile",
            application_id=application.ref,
            name="tools",
            location_uri="hosted",
            type="AWS.Freeform",
            validators=[appconfig.CfnConfigurationProfile.ValidatorsProperty(type="JSON_SCHEMA", content=schema)],
        )
        self._first(stage, application, environment, profile)
        at_once = self._strategy("AtOnce", f"{stage.prefix}-at-once", 0)
        for name, made in (
            ("Application", application), ("Environment", environment), ("Profile", profile), ("AtOnce", at_once),
        ):  # fmt: skip
            cdk.CfnOutput(cdk.Stack.of(self), f"Flags{name}", value=made.ref)
        names = f"{stage.prefix}/environments/{stage.name}/configurations/tools"
        self.url = f"http://localhost:{PORT}/applications/{names}"
        self.prefetched = f"/applications/{names}"
        self.arn = cdk.Stack.of(self).format_arn(
            service="appconfig",
            resource="application",
            resource_name=f"{application.ref}/environment/{environment.ref}/configuration/{profile.ref}",
        )

    def _monitors(self, stage: Stage) -> list[appconfig.CfnEnvironment.MonitorsProperty]:
        """Makes alarms for the rollback of flags, since the service's alarms are created later."""
        role = iam.Role(
            self,
            "Monitor",
            role_name=f"{stage.prefix}-flags-monitor",
            assumed_by=iam.ServicePrincipal("appconfig.amazonaws.com"),
            inline_policies={
                "alarms": iam.PolicyDocument(
                    statements=[iam.PolicyStatement(actions=["cloudwatch:DescribeAlarms"], resources=["*"])]
                )
            },
        )
        acknowledge(role, "AwsSolutions-IAM5[Resource::*]", "Alarms are described all together: AppConfig asks by no name.")
        where = Deployed(f"{stage.prefix}-flags", stage.namespace, page=None, ticket=None)
        made = [
            cdk.CfnResource(self, name, type=each["Type"], properties=each["Properties"])
            for name, each in silent_rollback_alarms(where).items()
        ]
        return [
            appconfig.CfnEnvironment.MonitorsProperty(
                alarm_arn=cdk.Token.as_string(each.get_att("Arn")), alarm_role_arn=role.role_arn
            )
            for each in made
        ]

    def _strategy(self, name: str, called: str, bake: int) -> appconfig.CfnDeploymentStrategy:
        """Makes a deployment strategy of `bake` minutes for four steps, and as many of watching afterwards. With 0, for a
        kill switch, all tasks have a document at once and no alarm rolls it back, since alarms ring already then."""
        return appconfig.CfnDeploymentStrategy(
            self,
            name,
            name=called,
            deployment_duration_in_minutes=bake,
            growth_factor=25 if bake else 100,
            growth_type="LINEAR",
            final_bake_time_in_minutes=bake,
            replicate_to="NONE",
        )

    def _first(
        self,
        stage: Stage,
        application: appconfig.CfnApplication,
        environment: appconfig.CfnEnvironment,
        profile: appconfig.CfnConfigurationProfile,
    ) -> None:
        """Deploys a first, empty document, since AppConfig's agent would otherwise have none to serve."""
        strategy = self._strategy("Strategy", stage.prefix, stage.flags_bake_minutes)
        version = appconfig.CfnHostedConfigurationVersion(
            self,
            "First",
            application_id=application.ref,
            configuration_profile_id=profile.ref,
            content_type="application/json",
            content=NO_FLAGS,
        )
        appconfig.CfnDeployment(
            self,
            "FirstDeployment",
            application_id=application.ref,
            environment_id=environment.ref,
            configuration_profile_id=profile.ref,
            configuration_version=version.ref,
            deployment_strategy_id=strategy.ref,
        )
