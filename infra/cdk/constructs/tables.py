"""DynamoDB tables, made from the same definitions as the server and `python -m infra.seed` use."""

from __future__ import annotations

from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from infra.cdk.acknowledged import acknowledge
from infra.cdk.config import Stage
from infra.cdk.constructs.keys import Keys
from infra.cdk.removal import removal
from tools.store.backends.dynamodb.tables import BILLING_MODE, TABLES, Index, Table


class Tables(Construct):
    """All tables of the store. `of`: the table resource for each definition."""

    def __init__(self, scope: Construct, stage: Stage, keys: Keys) -> None:
        super().__init__(scope, "Tables")
        self._stage, self._keys = stage, keys
        self.of = {table: self._table(table) for table in TABLES}

    def _table(self, table: Table) -> dynamodb.CfnTable:
        created = table.creation(self._stage.table_prefix)
        key = self._keys.personal if table.personal else self._keys.shop
        made = dynamodb.CfnTable(
            self,
            table.name.capitalize(),
            table_name=created["TableName"],
            billing_mode=BILLING_MODE,
            attribute_definitions=[_attribute(each) for each in created["AttributeDefinitions"]],
            key_schema=_schema(created["KeySchema"]),
            local_secondary_indexes=[_local(table, each) for each in table.indexes if each.partition_key is None] or None,
            global_secondary_indexes=[_global(table, each, self._bound()) for each in table.indexes if each.partition_key]
            or None,
            point_in_time_recovery_specification=dynamodb.CfnTable.PointInTimeRecoverySpecificationProperty(
                point_in_time_recovery_enabled=table.recovery
            ),
            sse_specification=dynamodb.CfnTable.SSESpecificationProperty(
                sse_enabled=True, sse_type="KMS", kms_master_key_id=key.key_arn
            ),
            time_to_live_specification=_ends(table),
            on_demand_throughput=self._bound(),
            deletion_protection_enabled=self._stage.keep,
        )
        made.apply_removal_policy(removal(self._stage))
        if not table.recovery:
            acknowledge(
                made, "AwsSolutions-DDB3", "The seed and the warehouse write all of it anew; there is nothing to recover."
            )
        return made

    def _bound(self) -> dynamodb.CfnTable.OnDemandThroughputProperty:
        """Returns the throughput limit of a table or an index. An index does not inherit the table's limit."""
        bounds = self._stage.bounds
        return dynamodb.CfnTable.OnDemandThroughputProperty(
            max_read_request_units=bounds.most_read_units, max_write_request_units=bounds.most_write_units
        )


def _ends(table: Table) -> dynamodb.CfnTable.TimeToLiveSpecificationProperty | None:
    if table.ttl is None:
        return None
    return dynamodb.CfnTable.TimeToLiveSpecificationProperty(enabled=True, attribute_name=table.ttl)


def _attribute(created: dict[str, str]) -> dynamodb.CfnTable.AttributeDefinitionProperty:
    return dynamodb.CfnTable.AttributeDefinitionProperty(
        attribute_name=created["AttributeName"], attribute_type=created["AttributeType"]
    )


def _schema(created: list[dict[str, str]]) -> list[dynamodb.CfnTable.KeySchemaProperty]:
    return [
        dynamodb.CfnTable.KeySchemaProperty(attribute_name=each["AttributeName"], key_type=each["KeyType"])
        for each in created
    ]


def _projection(index: Index) -> dynamodb.CfnTable.ProjectionProperty:
    return dynamodb.CfnTable.ProjectionProperty(projection_type="INCLUDE", non_key_attributes=list(index.include))


def _local(table: Table, index: Index) -> dynamodb.CfnTable.LocalSecondaryIndexProperty:
    schema = _schema(index.creation(table.partition_key)["KeySchema"])
    return dynamodb.CfnTable.LocalSecondaryIndexProperty(
        index_name=index.name, key_schema=schema, projection=_projection(index)
    )


def _global(
    table: Table, index: Index, bound: dynamodb.CfnTable.OnDemandThroughputProperty
) -> dynamodb.CfnTable.GlobalSecondaryIndexProperty:
    schema = _schema(index.creation(table.partition_key)["KeySchema"])
    return dynamodb.CfnTable.GlobalSecondaryIndexProperty(
        index_name=index.name, key_schema=schema, projection=_projection(index), on_demand_throughput=bound
    )
