"""What must outlive every deployment: the two tables of a queue, in a construct of its own.

In a stack of its own, what works on the jobs can be torn down and deployed anew without touching them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import ArnFormat, Aws, CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from constructs import Construct

from leasehold.kernel.table import DEAD_LETTERS, ENDED_INDEX, JOBS

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

    from leasehold.kernel.table import Index, TableDefinition

_FOR_LOGS = (
    *("Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey"),
    *("GenerateDataKeyWithoutPlaintext", "ReEncryptFrom", "ReEncryptTo"),
)


class JobQueueStore(Construct):
    """The tables of jobs and of dead letters.

    >>> store = JobQueueStore(data_stack, "Store")                       # doctest: +SKIP
    >>> JobQueue(queue_stack, "Jobs", store=store, entry="jobs")         # doctest: +SKIP
    """

    jobs: dynamodb.ITable
    dead_letters: dynamodb.ITable
    encryption_key: kms.IKey | None
    ended_index: bool

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
        encryption_key: kms.IKey | None = None,
        point_in_time_recovery: bool = True,
        deletion_protection: bool | None = None,
        ended_index: bool = True,
    ) -> None:
        """removal_policy: what happens to the tables when they leave their stack. Default: they stay.

        encryption_key: a key of this account for all that is stored. Default: a key that AWS owns, which costs nothing.
        point_in_time_recovery: restore to any second of the last 35 days. Default: on.
        deletion_protection: refuse to delete a table, whoever asks. Default: on where the removal policy keeps it.
        ended_index: list ended jobs by type and status, for one more write unit per job. Default: on.
        """
        super().__init__(scope, construct_id)
        keeps = removal_policy != RemovalPolicy.DESTROY
        self.encryption_key = encryption_key
        self.ended_index = ended_index
        protected = keeps if deletion_protection is None else deletion_protection

        def table(name: str, definition: TableDefinition, without: frozenset[Index]) -> dynamodb.Table:
            return _defined_table(
                Construct(self, name),
                definition,
                key=encryption_key,
                without=without,
                removal_policy=removal_policy,
                recovery=point_in_time_recovery,
                protected=protected,
            )

        self.jobs = table("Jobs", JOBS, frozenset() if ended_index else frozenset({ENDED_INDEX}))
        # Apart from the jobs, so that its stream carries nothing but dead letters.
        self.dead_letters = table("DeadLetters", DEAD_LETTERS, frozenset())
        if encryption_key is not None:
            let_services_use(encryption_key, self)
        CfnOutput(self, "JobsTableName", value=self.jobs.table_name)
        CfnOutput(self, "DeadLettersTableName", value=self.dead_letters.table_name)

    @classmethod
    def from_tables(
        cls,
        scope: Construct,
        construct_id: str,
        *,
        jobs: dynamodb.ITable,
        dead_letters: dynamodb.ITable,
        encryption_key: kms.IKey | None = None,
        ended_index: bool = True,
    ) -> JobQueueStore:
        """Tables that are there already, e.g. those of a restore: `Table.from_table_attributes` with its stream's ARN.

        encryption_key: that the tables are under, and all else of the queue then. One of another stack (`from_key_arn`)
            cannot be changed here: its own policy must let cloudwatch.amazonaws.com and CloudWatch Logs use it, as
            `let_services_use` does. Default: none of this account.
        ended_index: whether the table of jobs has the index `ended`. Default: it has.
        """
        for name, table in (("jobs", jobs), ("dead_letters", dead_letters)):
            if table.table_stream_arn is None:
                raise ValueError(
                    f"JobQueueStore.from_tables: {name} has no stream, and the queue follows it. "
                    "Use Table.from_table_attributes(..., table_stream_arn=...); the stream shows new and old images."
                )
        store = cls.__new__(cls)
        Construct.__init__(store, scope, construct_id)
        store.jobs, store.dead_letters = jobs, dead_letters
        store.encryption_key, store.ended_index = encryption_key, ended_index
        if encryption_key is not None:
            let_services_use(encryption_key, store)
        return store

    def export_streams(self) -> None:
        """Keep the streams' ARNs exported for another stack, whether it follows them now or not.

        An export cannot go while the other stack still reads it: `wake_by_stream` could not be switched off.
        """
        for table in (self.jobs, self.dead_letters):
            if table.table_stream_arn is not None and isinstance(table, dynamodb.Table):
                Stack.of(self).export_value(table.table_stream_arn)


def _defined_table(
    scope: Construct,
    definition: TableDefinition,
    *,
    key: kms.IKey | None,
    without: frozenset[Index],
    removal_policy: RemovalPolicy,
    recovery: bool,
    protected: bool,
) -> dynamodb.Table:
    """Made from the definition that the library itself works with: on demand, with TTL and a stream."""
    partition, *sort = definition.key
    table = dynamodb.Table(
        scope,
        "Table",
        partition_key=_text(partition),
        sort_key=_text(sort[0]) if sort else None,
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        time_to_live_attribute=definition.ttl,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=recovery
        ),
        # One view for ever: another one is another stream, whose ARN others may have imported.
        stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
        # A key that AWS owns costs nothing; one that AWS manages is billed per request.
        encryption=dynamodb.TableEncryption.CUSTOMER_MANAGED if key else dynamodb.TableEncryption.DEFAULT,
        encryption_key=key,
        deletion_protection=protected,
        removal_policy=removal_policy,
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


def let_services_use(key: kms.IKey, scope: Construct) -> None:
    """Alarms publish to an encrypted topic as CloudWatch, and logs are encrypted by their service: not by any role."""
    key.add_to_resource_policy(
        iam.PolicyStatement(
            sid="LetAlarmsPublish",
            principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
            actions=["kms:Decrypt", "kms:GenerateDataKey"],
            # In a key's own policy `*` is the key itself.
            resources=["*"],
            conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
        )
    )
    groups = Stack.of(scope).format_arn(
        service="logs", resource="log-group", resource_name="*", arn_format=ArnFormat.COLON_RESOURCE_NAME
    )
    key.add_to_resource_policy(
        iam.PolicyStatement(
            sid="LetLogsEncrypt",
            principals=[iam.ServicePrincipal(f"logs.{Aws.REGION}.amazonaws.com")],
            actions=[f"kms:{action}" for action in _FOR_LOGS],
            resources=["*"],
            # Log groups have no names of ours: those of this account and region.
            conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
        )
    )
