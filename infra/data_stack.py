"""What must outlive every deployment: the two tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import CfnOutput, PermissionsBoundary, Stack

from infra.customer_key import CustomerKey
from infra.dead_letter_table import DeadLetterTable
from infra.job_table import JobTable

if TYPE_CHECKING:
    from constructs import Construct

    from infra.stages import Stage


class DataStack(Stack):
    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"Leasehold {stage.name}: jobs and dead letters",
            termination_protection=stage.keeps_data,
            permissions_boundary=boundary_of(stage),
        )
        self.key = CustomerKey(self, "Key", stage=stage).key if stage.customer_key else None
        self.jobs = JobTable(self, "Jobs", stage=stage, key=self.key)
        self.dead_letters = DeadLetterTable(self, "DeadLetters", stage=stage, key=self.key)
        # Exported whether the stream wakes the poller or not: an export cannot go while the other stack still reads it,
        # so that switching `wake_by_stream` off could not be deployed.
        assert self.jobs.table.table_stream_arn is not None
        self.export_value(self.jobs.table.table_stream_arn)
        CfnOutput(self, "JobsTableName", value=self.jobs.table.table_name)
        CfnOutput(self, "DeadLettersTableName", value=self.dead_letters.table.table_name)


def boundary_of(stage: Stage) -> PermissionsBoundary | None:
    """The policy that bounds every role of a stack, those that CDK makes by itself too."""
    if stage.permissions_boundary is None:
        return None
    return PermissionsBoundary.from_name(stage.permissions_boundary)
