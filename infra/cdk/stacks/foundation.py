"""Stack of the resources that outlive every release: network, keys, data, and the roles that may use the data. A rollback of
a service leaves this stack unchanged."""

from __future__ import annotations

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.cache import Cache
from infra.cdk.constructs.files import Files
from infra.cdk.constructs.flags import Flags
from infra.cdk.constructs.keys import Keys
from infra.cdk.constructs.network import Network
from infra.cdk.constructs.repositories import Repositories
from infra.cdk.constructs.roles import Data, Roles
from infra.cdk.constructs.search import Search
from infra.cdk.constructs.secrets import Secrets
from infra.cdk.constructs.socket_door import GatewayLog
from infra.cdk.constructs.tables import Tables
from infra.cdk.constructs.topics import Topics
from infra.cdk.stacks.stage_stack import StageStack


class Foundation(StageStack):
    def __init__(self, scope: Construct, stage: Stage) -> None:
        super().__init__(
            scope, stage, "foundation", "Network, keys, data and roles of the manga tools", protected=stage.keep
        )
        self.keys = Keys(self, stage)
        self.network = Network(self, stage, self.keys)
        self.data = Data(
            keys=self.keys,
            tables=Tables(self, stage, self.keys),
            search=Search(self, stage, self.network, self.keys),
            cache=Cache(self, stage, self.network, self.keys),
            flags=Flags(self, stage),
            files=Files(self, stage, self.network, self.keys),
        )
        self.repositories = Repositories(self, stage, self.keys)
        self.secrets = Secrets(self, stage, self.keys)
        self.roles = Roles(self, stage, self.data)
        self.topics = Topics(self, stage, self.keys)
        GatewayLog(self)
        self.cluster = ecs.Cluster(
            self,
            "Cluster",
            cluster_name=stage.prefix,
            vpc=self.network.vpc,
            container_insights_v2=ecs.ContainerInsights.ENABLED,
            enable_fargate_capacity_providers=True,
        )
