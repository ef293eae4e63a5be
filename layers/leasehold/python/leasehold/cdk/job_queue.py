"""JobQueue: a queue with its job types, for any CDK app."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_ssm as ssm

from leasehold.aws import names as variables
from leasehold.cdk.alarms import Alarms, alarm_topic
from leasehold.cdk.api import Api
from leasehold.cdk.audit_roots import AuditRoots
from leasehold.cdk.context import AlarmOptions, AuditRootOptions, QueueContext, environment_name_of, name_from_path
from leasehold.cdk.dashboard import Dashboard
from leasehold.cdk.grants import JobQueueBase
from leasehold.cdk.handlers import Handler, JobHandler, folders_of, places_of
from leasehold.cdk.layers import LIBRARY, architecture_of_this_machine, code_layer, runtime_of_this_machine
from leasehold.cdk.layers import dependency_layer as make_dependency_layer
from leasehold.cdk.lifecycle_events import LifecycleEvents
from leasehold.cdk.poller import Poller
from leasehold.cdk.registry import PublishedRegistry
from leasehold.cdk.reporter import DeadLetterReporter
from leasehold.cdk.rights import deduplicate_statements, enqueue_statements
from leasehold.cdk.schedules import ScheduleWakes
from leasehold.cdk.store import JobQueueStore
from leasehold.cdk.webhook_sender import WebhookSender
from leasehold.job_folders.folder import deployed_types, load_job_folders, schedules_of
from leasehold.kernel.job_type import JobType
from leasehold.kernel.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_kms as kms
    from constructs import Construct

    from leasehold.cdk.context import ApiOptions, TextStore, WebhookOptions
    from leasehold.job_folders.job_toml import JobFolder

# Set by `leasehold local deploy`: functions then run on this machine, whatever it is.
LOCAL = "leasehold:local"
_ALL_ALARMS, _ALL_ROOTS = AlarmOptions(), AuditRootOptions()


class JobQueue(JobQueueBase):
    """A queue: its tables, its poller, a function for each job type, and what watches over them.

    >>> jobs = JobQueue(self, "Jobs", entry="jobs")                                       # doctest: +SKIP
    >>> jobs.grant_enqueue(api_function, "send_invoice")                                  # doctest: +SKIP
    >>> jobs.metric_oldest_due_age().create_alarm(                                        # doctest: +SKIP
    ...     self, "Late", threshold=300, evaluation_periods=1)
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        entry: str | Path | None = None,
        job_types: Sequence[JobFolder] = (),
        handlers: Mapping[str, Handler] | None = None,
        nested_stacks: bool | None = None,
        probe: bool = False,
        queue_name: str | None = None,
        environment_name: str | None = None,
        store: JobQueueStore | None = None,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
        encryption_key: kms.IKey | None = None,
        point_in_time_recovery: bool = True,
        deletion_protection: bool | None = None,
        ended_index: bool = True,
        shards: int = 1,
        isolate_types: bool = True,
        concurrency: int | None = None,
        resources: Mapping[str, int] | None = None,
        concurrency_policy: str | None = None,
        policy_folder: str | Path = "policies",
        wake_by_stream: bool = True,
        poll_limit: int = 25,
        poll_interval: timedelta | None = None,
        poller_concurrency: int | None = None,
        runtime: lambda_.Runtime | None = None,
        architecture: lambda_.Architecture | None = None,
        dependency_layer: lambda_.ILayerVersion | None = None,
        layers: Sequence[lambda_.ILayerVersion] = (),
        environment: Mapping[str, str] | None = None,
        vpc: ec2.IVpc | None = None,
        vpc_subnets: ec2.SubnetSelection | None = None,
        security_groups: Sequence[ec2.ISecurityGroup] | None = None,
        permissions_boundary: iam.IManagedPolicy | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        log_level: str = "INFO",
        metrics_per_type: bool = False,
        alarms: AlarmOptions | None = _ALL_ALARMS,
        dashboard: bool = False,
        sentry_dsn: TextStore | None = None,
        webhooks: WebhookOptions | None = None,
        api: ApiOptions | None = None,
        audit_roots: AuditRootOptions | None = _ALL_ROOTS,
        require_reasons: bool = False,
        lifecycle_events: bool = False,
    ) -> None:
        """entry: a folder; each folder in it with a handler.py and a job.toml is a job type. Relative to where the CDK
            is started, as its assets are. Default: none, `job_types` are all.
        job_types: job types by themselves, besides those of `entry`. Default: none.
        handlers: job types whose jobs a function of this app does, `Handler.from_function(fn)`; their folders need a
            job.toml and no handler.py. Default: none, each folder's handler.py becomes a function.
        nested_stacks: functions of job types are in nested stacks, since a stack takes 500 resources. One that moves is
            made anew; jobs that it runs are tried again. Default: above 30 job types.
        probe: deploy the job type leasehold_probe too, which `leasehold verify` sends through this queue. Default: no.
        queue_name: what SDK and command line find the queue by, and its metrics; unique per account and region.
            Default: the construct's path, e.g. MyStack-Jobs.
        environment_name: which deployment this is, e.g. prod: what Sentry files its errors under, and what chooses
            `[environment.prod]` of a job.toml. Default: the name of the CDK Stage that it is in, or prod.
        store: the tables, made elsewhere, e.g. in a stack of their own; then the next four are set there.
            Default: tables of its own.
        removal_policy: what becomes of tables and logs that leave their stack. Default: they stay.
        encryption_key: for all that is stored: tables, queues, topic and logs. Default: keys that AWS owns.
        point_in_time_recovery: of the tables. Default: on.
        deletion_protection: of the tables. Default: on where the removal policy keeps them.
        ended_index: list ended jobs by type and status, for one more write unit per job. Default: on.
        shards: partitions of the due index; one carries 250 jobs a second at most. Raise it on a live table, never
            lower it. Default: 1.
        isolate_types: a job's partition names its type, so that each function's role reaches its own type's jobs only.
            Choose it once per table. Default: on.
        concurrency: how many jobs may run at once, of all types together. It costs 7 write units a job. Default: any.
        resources: how many jobs may use each shared resource at once; a job.toml names those it needs. Default: none.
        concurrency_policy: `module:function` in `policy_folder`, asked which limits a job counts against; see
            docs/limits.md. Default: the limits of these props and of each job.toml.
        policy_folder: where the policy's code lies; it is deployed whole, with the poller. Default: policies.
        wake_by_stream: start due jobs within a second; off, all runs at the tick or at `poll_interval`. Default: on.
        poll_limit: how many due entries a poll reads at once, 1 to 1000. Fewer let a stop be noticed sooner, and higher
            priorities overtake sooner; more need fewer reads. Default: 25.
        poll_interval: below a minute, the tick stays and polls at this interval. Default: once a minute.
        poller_concurrency: reserved for the poller, 4 or more. Default: no reserve.
        runtime: Python 3.12 or 3.13. Default: 3.13; on the local AWS that of this machine.
        architecture: of all functions. Default: ARM_64; on the local AWS that of this machine.
        dependency_layer: the packages of requirements.txt beside this file as a layer, for who may not reach a
            registry. Default: made at synthesis, with uv.
        layers: more layers for every job type's function. Default: none.
        environment: variables of every job type's function; job.toml wins. Default: none.
        vpc, vpc_subnets, security_groups: where all functions run; docs/aws.md lists the endpoints that they need.
            Default: in no VPC; in a VPC, one security group for all.
        permissions_boundary: of every role. Default: none.
        log_retention: of all logs; job.toml wins. Default: a month.
        log_level: INFO logs one line for each run's end; DEBUG also each enqueue, claim, start and idle poll; WARNING
            and ERROR less. Metrics are sent at every level. Default: INFO.
        metrics_per_type: metrics and alarms of lateness, leases and circuits once for each job type, which cost about
            $3 a month for each; else once for the queue. Default: off.
        alarms: which kinds there are, of which types, and whom they notify; None for none. Default: all, with a topic
            of their own.
        dashboard: a CloudWatch dashboard, $3 a month; it needs `metrics_per_type`; with rows of single types up to 40
            of them. Default: off.
        sentry_dsn: where the DSN of Sentry is kept. Default: no Sentry.
        webhooks: where the keys are kept that webhooks are signed with, and how they are sent. Default: no webhooks.
        api: the HTTP API, with who has which role in it. Default: none.
        audit_roots: keep a daily root of all audit trails in a bucket; None for none. Default: kept, without a lock.
        require_reasons: what people do by hand, on whatever surface, is refused without a reason. Default: off.
        lifecycle_events: notify an EventBridge bus, `JobQueue.event_bus`, of what happens to jobs. Default: off.
        """
        super().__init__(scope, construct_id)
        if store is not None and encryption_key is not None:
            raise ValueError("JobQueue: encryption_key and store: the store has the key. Set it there.")
        is_local = bool(self.node.try_get_context(LOCAL))
        self.store = store or JobQueueStore(
            self,
            "Store",
            removal_policy=removal_policy,
            encryption_key=encryption_key,
            point_in_time_recovery=point_in_time_recovery,
            deletion_protection=deletion_protection,
            ended_index=ended_index,
        )
        self.queue_name = queue_name or name_from_path(self.node.path)
        self.jobs_table, self.dead_letters_table = self.store.jobs, self.store.dead_letters
        self.encryption_key = self.store.encryption_key
        environment_name = environment_name or environment_name_of(self)
        handlers = handlers or {}
        probes = load_job_folders(LIBRARY / "verify", PurePosixPath("jobs")) if probe else ()
        folders = [each.in_environment(environment_name) for each in folders_of(entry, [*job_types, *probes], handlers)]
        self._types = {folder.name: folder.job_type for folder in folders}
        self._isolates_types, self._has_ended_index = isolate_types, self.store.ended_index
        self.metrics_per_type = metrics_per_type
        chosen_runtime = runtime or (runtime_of_this_machine() if is_local else lambda_.Runtime.PYTHON_3_13)
        chosen_architecture = architecture or (
            architecture_of_this_machine() if is_local else lambda_.Architecture.ARM_64
        )
        queue = QueueContext(
            scope=self,
            queue_name=self.queue_name,
            environment_name=environment_name,
            jobs=self.jobs_table,
            dead_letters=self.dead_letters_table,
            key=self.encryption_key,
            architecture=chosen_architecture,
            runtime=chosen_runtime,
            layers=tuple(layers),
            environment=environment or {},
            vpc=vpc,
            vpc_subnets=vpc_subnets,
            security_groups=security_groups or ([ec2.SecurityGroup(self, "Network", vpc=vpc)] if vpc else None),
            removal_policy=RemovalPolicy.DESTROY if removal_policy == RemovalPolicy.DESTROY else RemovalPolicy.RETAIN,
            log_retention=log_retention,
            log_level=log_level,
            shards=shards,
            isolate_types=isolate_types,
            ended_index=self.store.ended_index,
            concurrency=concurrency,
            resources=resources or {},
            concurrency_policy=concurrency_policy,
            policy_folder=Path(policy_folder),
            metrics_per_type=metrics_per_type,
            dashboard=dashboard,
            poll_limit=poll_limit,
            wake_by_stream=wake_by_stream,
            poll_interval=poll_interval,
            poller_concurrency=poller_concurrency,
            sentry_dsn=sentry_dsn,
            webhooks=webhooks,
            api=api,
            audit_roots=audit_roots,
            require_reasons=require_reasons,
            alarms=alarms,
        )
        queue.check()
        layer = code_layer(self, "Code", runtime=chosen_runtime)
        packages = dependency_layer or make_dependency_layer(
            self, "Dependencies", runtime=chosen_runtime, architecture=chosen_architecture
        )
        # For functions of the app that enqueue: the SDK and what it needs.
        self.sdk_layers = (layer, packages)
        queue = replace(queue, system_layers=self.sdk_layers)
        own = [each.name for each in folders if each.name not in handlers]
        places = {**dict.fromkeys(handlers, self), **places_of(self, own, nested=nested_stacks)}
        self._deploy(queue, folders, handlers, places, lifecycle_events=lifecycle_events)
        if permissions_boundary is not None:
            iam.PermissionsBoundary.of(self).apply(permissions_boundary)

    @classmethod
    def from_job_queue_attributes(
        cls,
        scope: Construct,
        construct_id: str,
        *,
        queue_name: str,
        jobs_table: dynamodb.ITable,
        dead_letters_table: dynamodb.ITable,
        job_types: Sequence[str] | Mapping[str, int],
        encryption_key: kms.IKey | None = None,
        isolate_types: bool = True,
        ended_index: bool = True,
        metrics_per_type: bool = False,
        functions: Mapping[str, lambda_.IFunction] | None = None,
    ) -> JobQueueBase:
        """A queue of another stack or app, for programs that enqueue there: its grants and metrics.

        job_types: their names; as a mapping, with their codes, where a job.toml sets `code`.
        encryption_key: that its tables are under. Default: none of this account.
        isolate_types, ended_index, metrics_per_type: as the queue has them. Default: as its own defaults.
        functions: of the job types that `grant_run_now` is called for. Default: none.
        """
        imported = JobQueueBase(scope, construct_id)
        codes = job_types if isinstance(job_types, Mapping) else dict.fromkeys(job_types, 0)
        imported.queue_name = queue_name
        imported.jobs_table, imported.dead_letters_table = jobs_table, dead_letters_table
        imported.encryption_key = encryption_key
        # Whether one is limited is not known here: its direct runs may need the rights of one that is.
        imported._types = {name: JobType(name=name, code=code, concurrency=1) for name, code in codes.items()}
        imported._functions = functions or {}
        imported._isolates_types, imported._has_ended_index = isolate_types, ended_index
        imported.metrics_per_type = metrics_per_type
        return imported

    def _deploy(
        self,
        queue: QueueContext,
        folders: Sequence[JobFolder],
        given: Mapping[str, Handler],
        places: Mapping[str, Construct],
        *,
        lifecycle_events: bool,
    ) -> None:
        schedules = schedules_of(folders)
        wakes = ScheduleWakes(self, "Schedules", queue=queue, schedules=schedules)
        self.poller = Poller(self, "Poller", queue=queue, wakes=wakes)
        self.handlers = {
            folder.name: JobHandler(
                places[folder.name],
                f"Job-{folder.name}",
                queue=queue,
                folder=folder,
                poller=self.poller.function,
                enqueues=self._enqueue_statements(folder),
                handler=given.get(folder.name),
            )
            for folder in folders
        }
        handlers = list(self.handlers.values())
        self._functions = {name: handler.function for name, handler in self.handlers.items()}
        sender = WebhookSender(self, "WebhookSender", queue=queue, options=queue.webhooks) if queue.webhooks else None
        senders = [sender] if sender else []
        self.poller.hand_over_to([*self._functions.values(), *(each.function for each in senders)])
        self.reporter = DeadLetterReporter(self, "Reporter", queue=queue)
        roots = AuditRoots(self, "AuditRoots", queue=queue, options=queue.audit_roots) if queue.audit_roots else None
        self.api = Api(self, "Api", queue=queue, options=queue.api, handlers=handlers) if queue.api else None
        self.event_bus = LifecycleEvents(self, "LifecycleEvents", queue=queue).bus if lifecycle_events else None
        PublishedRegistry(
            self,
            "Registry",
            queue=queue,
            registry=Registry(
                types=deployed_types(
                    folders,
                    {name: function.function_name for name, function in self._functions.items()},
                    webhook_sender=sender.function.function_name if sender else None,
                    webhooks_per_host=queue.webhook_concurrency_per_host,
                ),
                shards=queue.shards,
                isolate_types=queue.isolate_types,
                ended_index=queue.ended_index,
                concurrency=queue.concurrency,
                resources=queue.resources,
                audit_roots=roots.bucket.bucket_name if roots else None,
                require_reasons=queue.require_reasons,
            ),
            schedules=schedules,
            handlers=handlers,
            needs=[
                self.poller,
                wakes,
                *([roots] if roots else []),
                *([self.api] if self.api else []),
                *handlers,
                *senders,
            ],
        )
        self._publish_names()
        self.alarm_topic = alarm_topic(self, queue.alarms, self.encryption_key) if queue.alarms else None
        alarms = None
        if queue.alarms and self.alarm_topic:
            alarms = Alarms(
                self,
                "Alarms",
                queue=queue,
                topic=self.alarm_topic,
                poller=self.poller.function,
                reporter=self.reporter.function,
                handlers=[
                    each
                    for each in handlers
                    if queue.alarms.job_types is None or each.folder.name in queue.alarms.job_types
                ],
                undelivered_reports=self.reporter.undelivered,
            )
        if queue.dashboard:
            Dashboard(self, "Overview", queue=queue, poller=self.poller, handlers=handlers, alarms=alarms)
        CfnOutput(self, "QueueName", value=self.queue_name)

    def _enqueue_statements(self, folder: JobFolder) -> list[iam.PolicyStatement]:
        """What `enqueues` and `deduplicates` of a job.toml ask for; control every handler may read already."""
        where = f"{folder.path}/job.toml"
        found = []
        if folder.enqueues:
            codes = self._codes(f"{where}: enqueues", folder.enqueues)
            types = [self._types[each] for each in folder.enqueues]
            found += enqueue_statements(types, codes, self.jobs_table)
        if folder.deduplicates:
            codes = self._codes(f"{where}: deduplicates", folder.deduplicates)
            types = [self._types[each] for each in folder.deduplicates]
            found += deduplicate_statements(types, codes, self.jobs_table)
        return [each for each in found if each.sid != "ReadControl"]

    def _publish_names(self) -> None:
        """Where SDK and command line find the queue by its name."""
        names = {
            "jobs_table": self.jobs_table.table_name,
            "dead_letters_table": self.dead_letters_table.table_name,
            **({"api": self.api.api.api_endpoint} if self.api else {}),
        }
        ssm.StringParameter(
            self,
            "Names",
            parameter_name=variables.discovery_parameter(self.queue_name),
            description=f"Where the queue {self.queue_name} of Leasehold is",
            string_value=Stack.of(self).to_json_string(names),
        )
