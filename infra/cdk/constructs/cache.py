"""ElastiCache Serverless for Valkey, which holds the session memory. The server connects over TLS, as a user that
authenticates by IAM and may run only the server's commands."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_elasticache as elasticache
from constructs import Construct

from infra.cdk.config import Stage
from infra.cdk.constructs.keys import Keys
from infra.cdk.constructs.network import Network
from infra.cdk.removal import removal

ACCESS = (
    "on ~manga:* resetchannels &manga:* -@all +@read +@write +@scripting +@connection +@pubsub -@admin -@dangerous"
    " +time +info +cluster|slots +cluster|shards +cluster|info +cluster|nodes -function -script|flush"
)
"""The user's ACL rules (redis.io, "ACL"): keys and channels that begin with `manga:`, and no command that deletes all."""


class Cache(Construct):
    """Cache with its user. `url`: value of MANGA_REDIS_URL. `connectable`: ARNs for elasticache:Connect."""

    def __init__(self, scope: Construct, stage: Stage, network: Network, keys: Keys) -> None:
        super().__init__(scope, "Cache")
        stack = cdk.Stack.of(self)
        self.name, self._user_name = f"{stage.prefix}-sessions", f"{stage.prefix}-server"
        user, group = self._user(), self._group(stage)
        group.add_resource_dependency(user)
        cache = self._cache(stage, network, keys)
        cache.add_resource_dependency(group)
        cache.apply_removal_policy(removal(stage))
        self.url = (
            f"rediss+cluster://{self._user_name}@{cache.attr_endpoint_address}:{cache.attr_endpoint_port}"
            f"?iam={self.name}&region={stage.region}"
        )
        self.connectable = [
            stack.format_arn(
                service="elasticache", resource=kind, resource_name=name, arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
            )
            for kind, name in (("serverlesscache", self.name), ("user", self._user_name))
        ]

    def _user(self) -> elasticache.CfnUser:
        # With IAM, id and name have to be the same (ElastiCache User Guide, "Authenticating with IAM").
        return elasticache.CfnUser(
            self,
            "User",
            engine="valkey",
            user_id=self._user_name,
            user_name=self._user_name,
            authentication_mode={"Type": "iam"},
            access_string=ACCESS,
        )

    def _group(self, stage: Stage) -> elasticache.CfnUserGroup:
        return elasticache.CfnUserGroup(
            self, "Users", engine="valkey", user_group_id=f"{stage.prefix}-users", user_ids=[self._user_name]
        )

    def _cache(self, stage: Stage, network: Network, keys: Keys) -> elasticache.CfnServerlessCache:
        limits = elasticache.CfnServerlessCache.CacheUsageLimitsProperty(
            data_storage=elasticache.CfnServerlessCache.DataStorageProperty(unit="GB", maximum=stage.cache.most_gb),
            ecpu_per_second=elasticache.CfnServerlessCache.ECPUPerSecondProperty(
                maximum=stage.cache.most_ecpu_thousands * 1000
            ),
        )
        kept = stage.cache.snapshot_days
        return elasticache.CfnServerlessCache(
            self,
            "Sessions",
            engine="valkey",
            major_engine_version="8",
            serverless_cache_name=self.name,
            description="What sessions remember, and the channel between the tasks",
            cache_usage_limits=limits,
            kms_key_id=keys.shop.key_arn,
            security_group_ids=[network.cache.security_group_id],
            subnet_ids=network.subnets[:3],
            user_group_id=f"{stage.prefix}-users",
            snapshot_retention_limit=kept or None,
            daily_snapshot_time="18:00" if kept else None,
        )
