"""A DynamoDB table made from the definition that the library itself works with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
    from constructs import Construct

    from infra.stages import Stage
    from leasehold.store.definition import Index, TableDefinition


def defined_table(
    scope: Construct,
    definition: TableDefinition,
    *,
    name: str,
    stage: Stage,
    key: kms.IKey | None,
    without: frozenset[Index] = frozenset(),
    with_old_images: bool = False,
) -> dynamodb.Table:
    """On demand, with TTL, point-in-time recovery and a stream; `without` leaves optional indexes out."""
    partition, *sort = definition.key
    table = dynamodb.Table(
        scope,
        "Table",
        table_name=stage.named(name),
        partition_key=_text(partition),
        sort_key=_text(sort[0]) if sort else None,
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        time_to_live_attribute=definition.ttl,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
        # The new image, because a stream's filter looks at attributes: `wake` on a job, `resolution` on a letter.
        # What it was before is only asked for by those who tell others what has changed.
        stream=(dynamodb.StreamViewType.NEW_AND_OLD_IMAGES if with_old_images else dynamodb.StreamViewType.NEW_IMAGE),
        encryption=dynamodb.TableEncryption.CUSTOMER_MANAGED if key else dynamodb.TableEncryption.AWS_MANAGED,
        encryption_key=key,
        deletion_protection=stage.keeps_data,
        removal_policy=RemovalPolicy.RETAIN if stage.keeps_data else RemovalPolicy.DESTROY,
    )
    for index in (each for each in definition.indexes if each not in without):
        table.add_global_secondary_index(
            index_name=index.name,
            partition_key=_text(index.partition),
            sort_key=_text(index.sort),
            projection_type=dynamodb.ProjectionType.INCLUDE if index.projected else dynamodb.ProjectionType.KEYS_ONLY,
            non_key_attributes=list(index.projected) or None,
        )
    return table


def _text(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)
