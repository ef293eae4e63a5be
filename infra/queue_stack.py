"""What runs: the poller, a handler per job type, the reporter, and what watches over them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from aws_cdk import Aws, CfnOutput, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions

from infra.alarms import Alarms
from infra.api import Api
from infra.api_rights import operate_statements, read_statements
from infra.audit_roots import AuditRoots
from infra.code_layer import CodeLayer
from infra.dashboard import Dashboard
from infra.data_stack import boundary_of
from infra.dead_letter_reporter import DeadLetterReporter, dsn_statements
from infra.dependency_layer import DependencyLayer
from infra.job_function import JobFunction
from infra.lifecycle_events import LifecycleEvents
from infra.paths import ROOT
from infra.policy_layer import PolicyLayer
from infra.poller import Poller
from infra.registry import PublishedRegistry
from infra.rights import (
    code_of_type,
    create_group_statements,
    deduplicate_statements,
    enqueue_statements,
    key_statements,
    manage_schedules_statements,
    manage_templates_statements,
    read_template_statements,
    record_creation_statements,
    run_now_statements,
    schedule_statements,
)
from infra.schedules import ScheduleTrigger, ScheduleWakes
from infra.webhook_sender import WebhookSender
from leasehold.settings import variables
from leasehold.settings.job_folder import registry_of, schedules_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from constructs import Construct

    from infra.data_stack import DataStack
    from infra.stages import Stage
    from leasehold.settings.job_toml import JobFolder


class QueueStack(Stack):
    """`folders` are the job types, with paths below `root`."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        data: DataStack,
        folders: Sequence[JobFolder],
        root: Path = ROOT,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"Leasehold {stage.name}: what works on the jobs",
            permissions_boundary=boundary_of(stage),
        )
        jobs, dead_letters = data.jobs.table, data.dead_letters.table
        self._jobs, self._dead_letters = jobs, dead_letters
        self._key = data.key
        self._stage = stage
        layers = [
            CodeLayer(self, "Code", stage=stage).layer,
            DependencyLayer(self, "Dependencies", stage=stage).layer,
        ]
        environment = {
            variables.STAGE: stage.name,
            variables.JOBS_TABLE: jobs.table_name,
            variables.DEAD_LETTERS_TABLE: dead_letters.table_name,
            variables.METRICS_NAMESPACE: stage.metrics_namespace,
            variables.METRICS_PER_TYPE: "true" if stage.metrics_per_type else "false",
            "POWERTOOLS_LOG_LEVEL": stage.log_level,
            # Looking for plugins reads the metadata of every package, at each cold start.
            "PYDANTIC_DISABLE_PLUGINS": "1",
        }
        without_sentry = dict(environment)
        environment |= _dsn_environment(stage)
        use_key = key_statements(data.key) if data.key else []
        handlers = [
            JobFunction(
                self,
                f"Job-{folder.name}",
                stage=stage,
                root=root,
                folder=folder,
                layers=layers,
                environment=environment,
                jobs=jobs,
                dead_letters=dead_letters,
                key=data.key,
                key_statements=[*dsn_statements(self, stage), *use_key],
            )
            for folder in folders
        ]
        self._handlers = {handler.folder.name: handler for handler in handlers}
        senders = [
            WebhookSender(
                self,
                "WebhookSender",
                stage=stage,
                layers=layers,
                environment=without_sentry,
                jobs=jobs,
                dead_letters=dead_letters,
                key=data.key,
                key_statements=use_key,
            )
            for _ in range(stage.sends_webhooks)
        ]
        policy = [
            PolicyLayer(self, "Policy", stage=stage, folder=root / stage.policy_folder, policy=name).layer
            for name in (stage.concurrency_policy,)
            if name is not None
        ]
        wakes = ScheduleWakes(self, "ScheduleWakes", stage=stage)
        schedules = schedules_of(folders)
        self.poller = Poller(
            self,
            "Poller",
            stage=stage,
            layers=[*layers, *policy],
            environment={**environment, **wakes.environment},
            jobs=jobs,
            dead_letters=dead_letters,
            handlers=[*(handler.function for handler in handlers), *(sender.function for sender in senders)],
            key=data.key,
            key_statements=[
                *dsn_statements(self, stage),
                *use_key,
                *schedule_statements(jobs),
                *wakes.statements,
            ],
        )
        wakes.acknowledge(self.poller.lambda_)
        trigger = ScheduleTrigger(
            self,
            "ScheduleTrigger",
            stage=stage,
            wakes=wakes,
            schedules=schedules,
            layers=layers,
            environment=environment,
            jobs=jobs,
            key=data.key,
            key_statements=[*dsn_statements(self, stage), *use_key],
        )
        reporter = DeadLetterReporter(
            self,
            "Reporter",
            stage=stage,
            layers=layers,
            environment=environment,
            dead_letters=dead_letters,
            jobs=jobs,
            key=data.key,
            key_statements=use_key,
        )
        roots = AuditRoots(
            self,
            "AuditRoots",
            stage=stage,
            layers=layers,
            environment=without_sentry,
            jobs=jobs,
            key=data.key,
            key_statements=use_key,
        )
        surfaces: list[Construct] = []
        if stage.api is not None:
            api = Api(
                self,
                "Api",
                stage=stage,
                settings=stage.api,
                layers=layers,
                environment=without_sentry,
                jobs=jobs,
                dead_letters=dead_letters,
                handlers=handlers,
                key=data.key,
                key_statements=use_key,
            )
            surfaces.append(api)
        if stage.lifecycle_events:
            LifecycleEvents(
                self,
                "LifecycleEvents",
                stage=stage,
                layers=layers,
                jobs=jobs,
                key=data.key,
                key_statements=use_key,
            )
        PublishedRegistry(
            self,
            "Registry",
            stage=stage,
            layers=layers,
            environment=environment,
            jobs=jobs,
            registry=registry_of(
                folders,
                {handler.folder.name: handler.function.function_name for handler in handlers},
                shards=stage.shards,
                isolate_types=stage.isolate_types,
                ended_index=stage.ended_index,
                concurrency=stage.concurrency,
                resources=stage.resources,
                webhook_sender=next((sender.function.function_name for sender in senders), None),
                webhooks_per_host=stage.webhook_concurrency_per_host,
                audit_roots=roots.bucket.bucket_name,
            ),
            schedules=schedules,
            handlers=handlers,
            needs=[self.poller, trigger, roots, *surfaces, *handlers, *senders],
            key=data.key,
            key_statements=use_key,
        )
        self._watch(stage, reporter, handlers)

    def grant_enqueue(self, grantee: iam.IGrantable, *job_types: str) -> iam.Grant:
        """Let a program of yours enqueue jobs of these types, and nothing else: it inserts, and can overwrite nothing.

        Dedup keys, groups, templates and creations in people's names need more: each has a grant of its own.
        """
        return self._grant(grantee, enqueue_statements(self._codes("grant_enqueue", job_types), self._jobs))

    def grant_deduplicate(self, grantee: iam.IGrantable, *job_types: str) -> iam.Grant:
        """Let a program that may enqueue use dedup keys, also to take over and replace, and `transact_items`.

        These are transactions of puts and updates: whether they overwrite a job of these types is up to the program.
        """
        codes = self._codes("grant_deduplicate", job_types)
        types = [self._handlers[each].folder.job_type for each in job_types]
        return self._grant(grantee, deduplicate_statements(types, codes, self._jobs))

    def grant_create_groups(self, grantee: iam.IGrantable, *job_types: str) -> iam.Grant:
        """Let a program of yours create groups of jobs of these types. It could overwrite such jobs, and any group."""
        return self._grant(grantee, create_group_statements(self._codes("grant_create_groups", job_types), self._jobs))

    def grant_read_templates(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a program that may enqueue do so from templates."""
        return self._grant(grantee, read_template_statements(self._jobs))

    def grant_record_creation(self, grantee: iam.IGrantable, *job_types: str) -> iam.Grant:
        """Let a program that may enqueue do it in people's names (`created_by`), which leaves an audit record.

        Job and record are put in one transaction: whether that overwrites a job of these types is up to the program.
        """
        codes = self._codes("grant_record_creation", job_types)
        return self._grant(grantee, record_creation_statements(codes, self._jobs))

    def grant_manage_schedules(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a program of yours use `queue.schedules`. A schedule makes jobs of any type: so can who manages them."""
        return self._grant(grantee, manage_schedules_statements(self._jobs))

    def grant_manage_templates(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a program of yours use `queue.templates`, and nothing else."""
        return self._grant(grantee, manage_templates_statements(self._jobs))

    def grant_run_now(self, grantee: iam.IGrantable, job_type: str) -> iam.Grant:
        """Let a program of yours use `queue.run_now` with one job type."""
        (code,) = self._codes("grant_run_now", (job_type,))
        handler = self._handlers[job_type]
        statements = run_now_statements(handler.folder.job_type, code, self._jobs, handler.function)
        return self._grant(grantee, statements)

    def grant_read(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a program of yours look at everything, payloads and the audit included, and change nothing."""
        statements = read_statements(self._jobs, self._dead_letters, ended_index=self._stage.ended_index)
        return self._grant(grantee, statements)

    def grant_operate(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a program of yours act as an operator: cancel, retry, redrive, pause, halt, and all that the API does.

        What it does through Leasehold leaves an audit record. That it goes through Leasehold is up to the program.
        """
        statements = operate_statements(self._jobs, self._dead_letters, ended_index=self._stage.ended_index)
        return self._grant(grantee, statements)

    def _codes(self, grant: str, job_types: Sequence[str]) -> list[int]:
        known = ", ".join(sorted(self._handlers)) or "none"
        if not job_types:
            raise ValueError(f"{grant}: it is given by job type, and none is named. Deployed are: {known}.")
        for name in job_types:
            if name not in self._handlers:
                raise ValueError(f"{grant}: there is no job type {name!r}. Deployed are: {known}.")
        return list(
            dict.fromkeys(code_of_type(self._handlers[each].folder.job_type, self._stage) for each in job_types)
        )

    def _grant(self, grantee: iam.IGrantable, statements: Sequence[iam.PolicyStatement]) -> iam.Grant:
        """Without ids of statements, which are unique per policy: all grants fit onto one role."""
        all_statements = [*statements, *(key_statements(self._key) if self._key else [])]
        grants = [
            iam.Grant.add_to_principal(
                grantee=grantee,
                actions=list(each.actions),
                resource_arns=list(each.resources),
                conditions=each.conditions,
            )
            for each in all_statements
        ]
        return reduce(iam.Grant.combine, grants)

    def _watch(self, stage: Stage, reporter: DeadLetterReporter, handlers: Sequence[JobFunction]) -> None:
        topic = sns.Topic(self, "Alerts", topic_name=stage.named("alerts"), master_key=self._key, enforce_ssl=True)
        # A topic with a policy of its own has lost the default one, by which alarms could publish.
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="LetAlarmsPublish",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
            )
        )
        if stage.alarm_email is not None:
            topic.add_subscription(subscriptions.EmailSubscription(stage.alarm_email))
        alarms = Alarms(
            self,
            "Alarms",
            stage=stage,
            topic=topic,
            jobs=self._jobs,
            poller=self.poller.function,
            reporter=reporter.function,
            handlers=handlers,
            undelivered_reports=reporter.undelivered.queue,
        )
        if stage.dashboard:
            Dashboard(
                self,
                "Overview",
                stage=stage,
                jobs=self._jobs,
                poller=self.poller,
                handlers=handlers,
                alarms=alarms,
            )
        CfnOutput(self, "PollerFunctionName", value=self.poller.function.function_name)
        CfnOutput(self, "AlertsTopicArn", value=topic.topic_arn)


def _dsn_environment(stage: Stage) -> dict[str, str]:
    environment = {}
    if stage.sentry_dsn_secret is not None:
        environment[variables.SENTRY_DSN_SECRET] = stage.sentry_dsn_secret
    if stage.sentry_dsn_parameter is not None:
        environment[variables.SENTRY_DSN_PARAMETER] = stage.sentry_dsn_parameter
    return environment
