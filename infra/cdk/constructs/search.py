"""OpenSearch Serverless collection for searching the catalogue, with its three policies. A collection group sets the least
and the most compute units. Without a group the account's limits apply, whose minimum is zero: the first request after a
pause would take 10 to 30 seconds. The task of `infra.seed` creates the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_opensearchserverless as aoss
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.keys import Keys
from infra.cdk.constructs.network import Network
from infra.cdk.removal import removal
from tools.store.backends.opensearch.address import ALIAS

READ = ("aoss:DescribeIndex", "aoss:ReadDocument")
WRITE = (*READ, "aoss:CreateIndex", "aoss:UpdateIndex", "aoss:DeleteIndex", "aoss:WriteDocument")
ALIASES = (
    "aoss:CreateCollectionItems",
    "aoss:UpdateCollectionItems",
    "aoss:DescribeCollectionItems",
    "aoss:DeleteCollectionItems",
)
"""Actions that move the alias, for the seed only; searches just follow the alias."""
REDUNDANT, SINGLE = "ENABLED", "DISABLED"


class Search(Construct):
    """Vector collection and its capacity group. `url`: value of MANGA_CATALOG_URL. `arn`: resource of aoss:APIAccessAll.
    `group_name`, `group_id`: the capacity group. No role has access until `let_in` is called."""

    def __init__(self, scope: Construct, stage: Stage, network: Network, keys: Keys) -> None:
        super().__init__(scope, "Search")
        self._stage = stage
        self.name = f"{stage.prefix}-titles"
        endpoint = aoss.CfnVpcEndpoint(
            self,
            "Endpoint",
            name=f"{stage.prefix}-search",
            vpc_id=network.vpc.vpc_id,
            subnet_ids=network.subnets,
            security_group_ids=[network.endpoints.security_group_id],
        )
        policies = (self._encryption(keys), self._network(endpoint))
        group = self._group()
        self.group_name, self.group_id = group.name, group.attr_id
        collection = aoss.CfnCollection(
            self,
            "Titles",
            name=self.name,
            type="VECTORSEARCH",
            description="The catalogue's index",
            collection_group_name=group.name,
            standby_replicas=REDUNDANT if stage.search.replicas else SINGLE,
        )
        for each in (*policies, group):
            collection.add_resource_dependency(each)
        collection.apply_removal_policy(removal(stage))
        self.arn = collection.attr_arn
        self.url = f"aoss+{collection.attr_collection_endpoint}"

    def let_in(self, readers: Sequence[str], writers: Sequence[str]) -> None:
        """Lets roles search (`readers`) or load the catalogue (`writers`). Not even administrators have access otherwise."""
        index = f"index/{self.name}/{ALIAS}*"
        rules = [
            {"Rules": [_rule("index", index, READ)], "Principal": list(readers), "Description": "Searches"},
            {
                "Rules": [_rule("index", index, WRITE), _rule("collection", f"collection/{self.name}", ALIASES)],
                "Principal": list(writers),
                "Description": "Loads the catalogue",
            },
        ]
        aoss.CfnAccessPolicy(
            self, "Access", name=f"{self._stage.prefix}-access", type="data", policy=cdk.Stack.of(self).to_json_string(rules)
        )

    def _group(self) -> aoss.CfnCollectionGroup:
        wanted = self._stage.search
        limits = aoss.CfnCollectionGroup.CapacityLimitsProperty(
            min_search_capacity_in_ocu=wanted.least_search,
            max_search_capacity_in_ocu=wanted.most_search,
            min_indexing_capacity_in_ocu=1,
            max_indexing_capacity_in_ocu=wanted.most_indexing,
        )
        replicas = REDUNDANT if wanted.replicas else SINGLE
        return aoss.CfnCollectionGroup(
            self, "Capacity", name=f"{self._stage.prefix}-search", standby_replicas=replicas, capacity_limits=limits
        )

    def _encryption(self, keys: Keys) -> aoss.CfnSecurityPolicy:
        policy = {"Rules": [self._all_of_it()], "AWSOwnedKey": False, "KmsARN": keys.shop.key_arn}
        return self._policy("Encryption", policy)

    def _network(self, endpoint: aoss.CfnVpcEndpoint) -> aoss.CfnSecurityPolicy:
        return self._policy(
            "Network", [{"Rules": [self._all_of_it()], "AllowFromPublic": False, "SourceVPCEs": [endpoint.attr_id]}]
        )

    def _policy(self, kind: str, policy: Any) -> aoss.CfnSecurityPolicy:
        text = cdk.Stack.of(self).to_json_string(policy)
        name = f"{self._stage.prefix}-{kind.lower()}"[:32]
        return aoss.CfnSecurityPolicy(self, kind, name=name, type=kind.lower(), policy=text)

    def _all_of_it(self) -> dict[str, Any]:
        return {"ResourceType": "collection", "Resource": [f"collection/{self.name}"]}


def _rule(kind: str, resource: str, permissions: Sequence[str]) -> dict[str, Any]:
    return {"ResourceType": kind, "Resource": [resource], "Permission": list(permissions)}
