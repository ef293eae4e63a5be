"""The role of a type with batches may send the requests of a batch, for its own jobs only."""

from __future__ import annotations

from aws_cdk import App, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_

from leasehold.batches.model import Batch
from leasehold.cdk.context import QueueContext
from leasehold.cdk.rights import handler_statements
from leasehold.kernel.job_type import JobType


def test_a_type_with_batches_may_read_its_own_jobs_together_and_others_may_not() -> None:
    stack = Stack(App(), "rights")
    key = dynamodb.Attribute(name="PK", type=dynamodb.AttributeType.STRING)
    jobs = dynamodb.Table(stack, "Jobs", partition_key=key)

    queue = QueueContext(
        queue_name="q",
        environment_name="dev",
        jobs=jobs,
        dead_letters=jobs,
        key=None,
        architecture=lambda_.Architecture.ARM_64,
    )

    def rights(batch: Batch | None) -> dict[str, dict[str, object]]:
        job_type = JobType(name="receipt", batch=batch)
        statements = handler_statements(job_type, queue, jobs, jobs)
        return {each.sid: each.to_statement_json() for each in statements if each.sid is not None}

    batched, alone = rights(Batch(size=10)), rights(None)
    assert batched["ReadJobs"]["Action"] == ["dynamodb:GetItem", "dynamodb:BatchGetItem"]
    assert alone["ReadJobs"]["Action"] == "dynamodb:GetItem"
    assert batched["ReadJobs"]["Condition"] == alone["ReadJobs"]["Condition"]
    assert batched["EndJobs"] == alone["EndJobs"]
