"""What a queue gives to others: rights for programs, and metrics for alarms. One of another stack gives them, too."""

from __future__ import annotations

import re
from functools import reduce
from typing import TYPE_CHECKING

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from leasehold import telemetry
from leasehold.aws import names as variables
from leasehold.cdk.api_rights import operate_statements, read_statements
from leasehold.cdk.context import key_statements
from leasehold.cdk.metrics import MINUTE, own_metric
from leasehold.cdk.rights import (
    create_group_statements,
    deduplicate_statements,
    enqueue_statements,
    manage_schedules_statements,
    manage_templates_statements,
    read_template_statements,
    record_creation_statements,
    run_now_statements,
)
from leasehold.kernel.keys import NOT_ISOLATED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_kms as kms

    from leasehold.kernel.job_type import JobType


_METRICS_OF_AN_ALARM = 10  # by CloudWatch


class JobQueueBase(Construct):
    """A queue, deployed here or elsewhere."""

    queue_name: str
    jobs_table: dynamodb.ITable
    dead_letters_table: dynamodb.ITable
    encryption_key: kms.IKey | None
    _types: Mapping[str, JobType]
    _functions: Mapping[str, lambda_.IFunction]
    _isolates_types: bool
    _has_ended_index: bool
    metrics_per_type: bool

    @property
    def metrics_namespace(self) -> str:
        return f"Leasehold/{self.queue_name}"

    @property
    def job_types(self) -> tuple[str, ...]:
        """The names of all job types, in order."""
        return tuple(sorted(self._types))

    def grant_enqueue(self, grantee: iam.IGrantable, *job_types: str) -> iam.Grant:
        """Let a program of yours enqueue jobs of these types, and nothing else: it inserts, and can overwrite nothing.

        A dedup key that is new is inserted, too. Taking one over or replacing its job, groups, templates and creations
        in people's names need more: each has a grant of its own.
        """
        codes = self._codes("grant_enqueue", job_types)
        types = [self._types[each] for each in job_types]
        return self._grant(grantee, enqueue_statements(types, codes, self.jobs_table))

    def grant_deduplicate(self, grantee: iam.IGrantable, *job_types: str) -> iam.Grant:
        """Let a program that may enqueue reuse dedup keys: take them over, replace, debounce; and `transact_items`.

        These are transactions of puts and updates: whether they overwrite a job of these types is up to the program.
        """
        codes = self._codes("grant_deduplicate", job_types)
        types = [self._types[each] for each in job_types]
        return self._grant(grantee, deduplicate_statements(types, codes, self.jobs_table))

    def grant_create_groups(self, grantee: iam.IGrantable, *job_types: str) -> iam.Grant:
        """Let a program of yours create groups of jobs of these types. It could overwrite such jobs, and any group."""
        codes = self._codes("grant_create_groups", job_types)
        return self._grant(grantee, create_group_statements(codes, self.jobs_table))

    def grant_read_templates(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a program that may enqueue do so from templates."""
        return self._grant(grantee, read_template_statements(self.jobs_table))

    def grant_record_creation(self, grantee: iam.IGrantable, *job_types: str) -> iam.Grant:
        """Let a program that may enqueue do it in people's names (`created_by`), which leaves an audit record.

        Job and record are inserted in one transaction: it can overwrite neither jobs nor records.
        """
        codes = self._codes("grant_record_creation", job_types)
        return self._grant(grantee, record_creation_statements(codes, self.jobs_table))

    def grant_manage_schedules(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a program of yours use `queue.schedules`. A schedule makes jobs of any type: so can who manages them."""
        return self._grant(grantee, manage_schedules_statements(self.jobs_table))

    def grant_manage_templates(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a program of yours use `queue.templates`, and nothing else."""
        return self._grant(grantee, manage_templates_statements(self.jobs_table))

    def grant_run_now(self, grantee: iam.IGrantable, job_type: str) -> iam.Grant:
        """Let a program of yours use `queue.run_now` with one job type."""
        (code,) = self._codes("grant_run_now", (job_type,))
        if job_type not in self._functions:
            raise ValueError(
                f"grant_run_now: the function of {job_type!r} is not known here. "
                "Call it on the JobQueue itself, or name the function in from_job_queue_attributes(functions=...)."
            )
        function = self._functions[job_type]
        return self._grant(grantee, run_now_statements(self._types[job_type], code, self.jobs_table, function))

    def grant_read(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a program of yours look at everything, payloads and the audit included, and change nothing."""
        statements = read_statements(self.jobs_table, self.dead_letters_table, ended_index=self._has_ended_index)
        return self._grant(grantee, statements)

    def grant_operate(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a program of yours act as an operator: cancel, retry, redrive, pause, halt, and all that the API does.

        What it does through Leasehold leaves an audit record. That it goes through Leasehold is up to the program.
        """
        statements = operate_statements(self.jobs_table, self.dead_letters_table, ended_index=self._has_ended_index)
        return self._grant(grantee, statements)

    def grant_discover(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a program of yours find the queue by its name: `Queue.connect("<queue_name>")`, `leasehold --queue`."""
        arn = Stack.of(self).format_arn(
            service="ssm", resource="parameter", resource_name=variables.discovery_parameter(self.queue_name)[1:]
        )
        return iam.Grant.add_to_principal(grantee=grantee, actions=["ssm:GetParameter"], resource_arns=[arn])

    def metric_oldest_due_age(self, job_type: str | None = None) -> cloudwatch.Metric | cloudwatch.MathExpression:
        """For how many seconds the oldest job has been due and was not claimed.

        With `metrics_per_type` of one type, or of all as an expression over them: for an alarm, CloudWatch takes ten.
        """
        if job_type is not None or not self.metrics_per_type:
            return self._metric(telemetry.OLDEST_DUE_AGE, "Maximum", job_type)
        if not 1 <= len(self._types) <= _METRICS_OF_AN_ALARM:
            raise ValueError(
                f"metric_oldest_due_age: the queue has {len(self._types)} job types, and an expression takes 1 to "
                f"{_METRICS_OF_AN_ALARM}. Name one: metric_oldest_due_age(job_type). `alarms` watches all of them."
            )
        ages: dict[str, cloudwatch.IMetric] = {
            f"age{number}": self._metric(telemetry.OLDEST_DUE_AGE, "Maximum", name)
            for number, name in enumerate(self.job_types)
        }
        return cloudwatch.MathExpression(
            expression=f"MAX([{', '.join(ages)}])", using_metrics=ages, label="Oldest due, seconds", period=MINUTE
        )

    def metric_due(self, job_type: str | None = None) -> cloudwatch.Metric:
        """How many jobs are due and were not claimed. Here and below: of a type, with `metrics_per_type`."""
        return self._metric(telemetry.QUEUE_DEPTH, "Maximum", job_type)

    def metric_claimed(self, job_type: str | None = None) -> cloudwatch.Metric:
        """How many jobs were handed over."""
        return self._metric(telemetry.CLAIMED, "Sum", job_type)

    def metric_ended(self, outcome: str = "success", job_type: str | None = None) -> cloudwatch.Metric:
        """How many runs ended with success, failed, dead_letter, cancelled or skipped."""
        return self._metric(telemetry.COMPLETED, "Sum", job_type, status=outcome)

    def metric_lateness(self, job_type: str | None = None, *, statistic: str = "p99") -> cloudwatch.Metric:
        """How many seconds after they were due jobs started."""
        return self._metric(telemetry.LATENESS, statistic, job_type)

    def metric_processing(self, job_type: str | None = None, *, statistic: str = "p99") -> cloudwatch.Metric:
        """How many seconds handlers ran."""
        return self._metric(telemetry.PROCESSING, statistic, job_type)

    def metric_leases_lost(self, job_type: str | None = None) -> cloudwatch.Metric:
        """How many workers lost their lease: they ran longer than it, or died."""
        return self._metric(telemetry.LEASES_LOST, "Sum", job_type, period=Duration.minutes(5))

    def metric_dead_letters(self) -> cloudwatch.Metric:
        """How many dead letters wait for somebody to look at them."""
        return self._metric(telemetry.DEAD_LETTER_DEPTH, "Maximum")

    def metric_heartbeat(self) -> cloudwatch.Metric:
        """How many polls there were; none for three minutes means that no job starts."""
        return self._metric(telemetry.HEARTBEAT, "Sum")

    def _metric(
        self,
        metric: telemetry.Metric,
        statistic: str,
        job_type: str | None = None,
        *,
        period: Duration = MINUTE,
        **dimensions: str,
    ) -> cloudwatch.Metric:
        if job_type is not None and job_type not in self._types:
            raise ValueError(f"{metric.name}: there is no job type {job_type!r}. Deployed are: {self._deployed}.")
        if "job_type" in metric.sent_dimensions(per_type=self.metrics_per_type):
            if job_type is None:
                raise ValueError(f"{metric.name}: with metrics_per_type it is sent for each type. Name one.")
            dimensions["job_type"] = job_type
        elif job_type is not None:
            raise ValueError(f"{metric.name}: it is sent for the whole queue. Set metrics_per_type, or name no type.")
        return own_metric(self, metric, statistic=statistic, period=period, **dimensions)

    @property
    def _deployed(self) -> str:
        return ", ".join(self.job_types) or "none"

    def _codes(self, grant: str, job_types: Sequence[str]) -> list[int]:
        if not job_types:
            raise ValueError(f"{grant}: it is given by job type, and none is named. Deployed are: {self._deployed}.")
        for name in job_types:
            if name not in self._types:
                raise ValueError(f"{grant}: there is no job type {name!r}. Deployed are: {self._deployed}.")
        codes = (self._types[each].code if self._isolates_types else NOT_ISOLATED for each in job_types)
        return list(dict.fromkeys(codes))

    def _grant(self, grantee: iam.IGrantable, statements: Sequence[iam.PolicyStatement]) -> iam.Grant:
        """Without ids of statements, which are unique per policy: all grants fit onto one role."""
        all_statements = [*statements, *(key_statements(self.encryption_key) if self.encryption_key else [])]
        grants = [
            iam.Grant.add_to_principal(
                grantee=grantee,
                actions=list(each.actions),
                resource_arns=list(each.resources),
                conditions=each.conditions,
            )
            for each in all_statements
        ]
        if isinstance(grantee, lambda_.Function):
            self._tell(grantee)
        return reduce(iam.Grant.combine, grants)

    def _tell(self, function: lambda_.Function) -> None:
        """One variable per queue, so that `Queue.connect()` finds it, or says which there are."""
        tables = {
            "queue_name": self.queue_name,
            "jobs_table": self.jobs_table.table_name,
            "dead_letters_table": self.dead_letters_table.table_name,
        }
        function.add_environment(tables_variable(self.queue_name), Stack.of(function).to_json_string(tables))


def tables_variable(queue_name: str) -> str:
    """
    >>> tables_variable("my-app-jobs")
    'LEASEHOLD_TABLES_MY_APP_JOBS'
    """
    return variables.TABLES_PREFIX + re.sub(r"[^A-Z0-9]", "_", queue_name.upper())
