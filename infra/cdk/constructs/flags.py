"""Which tools are on, and for whom: AppConfig, rolled out in steps. Tasks read it from AppConfig's agent beside them.

AppConfig validates by JSON Schema draft 4 and the flags' schema is of 2020-12, so the server judges a document, and keeps
the last one that was right.
"""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_appconfig as appconfig
from constructs import Construct

from infra.cdk.config import Stage

PORT = 2772
NO_FLAGS = "{}"
"""Every tool as it is by itself."""


class Flags(Construct):
    """`url` is for MANGA_FLAGS_URL, `arn` the resource that the agent reads."""

    def __init__(self, scope: Construct, stage: Stage) -> None:
        super().__init__(scope, "Flags")
        application = appconfig.CfnApplication(self, "Application", name=stage.prefix)
        environment = appconfig.CfnEnvironment(self, "Environment", application_id=application.ref, name=stage.name)
        profile = appconfig.CfnConfigurationProfile(
            self, "Profile", application_id=application.ref, name="tools", location_uri="hosted", type="AWS.Freeform"
        )
        self._first(stage, application, environment, profile)
        names = f"{stage.prefix}/environments/{stage.name}/configurations/tools"
        self.url = f"http://localhost:{PORT}/applications/{names}"
        self.prefetched = f"/applications/{names}"
        self.arn = cdk.Stack.of(self).format_arn(
            service="appconfig",
            resource="application",
            resource_name=f"{application.ref}/environment/{environment.ref}/configuration/{profile.ref}",
        )

    def _first(
        self,
        stage: Stage,
        application: appconfig.CfnApplication,
        environment: appconfig.CfnEnvironment,
        profile: appconfig.CfnConfigurationProfile,
    ) -> None:
        """Without a deployment the agent has nothing to give out."""
        bake = stage.flags_bake_minutes
        strategy = appconfig.CfnDeploymentStrategy(
            self,
            "Strategy",
            name=stage.prefix,
            deployment_duration_in_minutes=bake,
            growth_factor=25 if bake else 100,
            growth_type="LINEAR",
            final_bake_time_in_minutes=bake,
            replicate_to="NONE",
        )
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
