"""What must outlive every deployment: the two tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import CfnOutput, Stack

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
        )
        self.key = CustomerKey(self, "Key", stage=stage).key if stage.customer_key else None
        self.jobs = JobTable(self, "Jobs", stage=stage, key=self.key)
        self.dead_letters = DeadLetterTable(self, "DeadLetters", stage=stage, key=self.key)
        CfnOutput(self, "JobsTableName", value=self.jobs.table.table_name)
        CfnOutput(self, "DeadLettersTableName", value=self.dead_letters.table.table_name)
