"""Handlers: one function per job type, from its folder, or one that the app has already."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, cast

from aws_cdk import Aws, Duration, NestedStack, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from leasehold.aws import names as variables
from leasehold.cdk.acknowledgements import acknowledge_wildcard
from leasehold.cdk.context import ending_in_its_reason
from leasehold.cdk.function import FunctionProps, LeaseholdFunction
from leasehold.cdk.layers import handler_code
from leasehold.cdk.rights import handler_statements
from leasehold.job_folders.folder import function_timeout, load_job_folders
from leasehold.job_folders.job_toml import JobFolder
from leasehold.job_folders.toml import InvalidJobFolderError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leasehold.cdk.context import QueueContext
    from leasehold.job_folders.permission import Permission
    from leasehold.kernel.job_type import JobType


# Above this the functions of job types are in nested stacks: a stack takes 500 resources, a type has up to twelve, and
# the queue itself about eighty.
TYPES_IN_ONE_STACK = 30
_NESTED_STACKS = 16


def places_of(scope: Construct, names: Sequence[str], *, nested: bool | None) -> dict[str, Construct]:
    """Where the function of each job type stands. A type's nested stack follows from its name: others never move it."""
    if not (len(names) > TYPES_IN_ONE_STACK if nested is None else nested):
        return dict.fromkeys(names, scope)
    numbers = {name: hashlib.sha256(name.encode()).digest()[0] % _NESTED_STACKS for name in names}
    stacks = {number: NestedStack(scope, f"Types{number}") for number in sorted({*numbers.values()})}
    return {name: stacks[number] for name, number in numbers.items()}


class Handler:
    """Who does a type's jobs, where that is not the handler.py of its folder.

    >>> JobQueue(self, "Jobs", entry="jobs", handlers={"render": Handler.from_function(render)})   # doctest: +SKIP
    """

    def __init__(self, function: lambda_.IFunction) -> None:
        self._function = function

    @classmethod
    def from_function(cls, function: lambda_.IFunction) -> Handler:
        """A Lambda function of the same stack, whose handler is made by `leasehold.runtime.entry.entry`.

        It gets Leasehold's layers, its variables, its rights and the asynchronous settings; timeout, memory, logs and
        network stay its own. A container image brings Leasehold with it, since it takes no layers.
        """
        return cls(function)

    def taken_in(self, scope: Construct, folder: JobFolder, queue: QueueContext) -> lambda_.Function:
        """With all that a handler needs besides its rights; ValueError with the fix where it cannot do these jobs."""
        function = self._function
        if not isinstance(function, lambda_.Function):
            raise _unusable(
                folder,
                "it is imported, or a version or an alias, and the CDK cannot add layers, rights and settings to it",
                "Pass the lambda_.Function itself, defined in this stack, or move its code into the job's folder",
            )
        if Stack.of(function) is not Stack.of(scope):
            raise _unusable(
                folder,
                f"it is in the stack {Stack.of(function).stack_name}, and the queue in {Stack.of(scope).stack_name}: "
                "each would need something of the other, and neither could be deployed first",
                "Define the function in the queue's stack; tables in a stack of their own (store=) do no harm",
            )
        for reason, fix in _misfits(function, folder, queue):
            raise _unusable(folder, reason, fix)
        if function.runtime.name != lambda_.Runtime.FROM_IMAGE.name:
            function.add_layers(*queue.system_layers, *queue.layers)
        try:
            function.configure_async_invoke(retry_attempts=0, max_event_age=_max_event_age(folder))
        except RuntimeError:
            raise _unusable(
                folder,
                "it has asynchronous settings already, of its own or of another job type",
                "Leave out retry_attempts, max_event_age and on_failure; a function does the jobs of one type",
            ) from None
        # Pollers and handlers start one another; Lambda would stop such a chain after 16 rounds.
        cast("lambda_.CfnFunction", function.node.default_child).recursive_loop = "Allow"
        return function


def _misfits(function: lambda_.Function, folder: JobFolder, queue: QueueContext) -> Iterator[tuple[str, str]]:
    needed = int(function_timeout(folder.job_type).total_seconds())
    given = 3 if function.timeout is None else int(function.timeout.to_seconds())
    if given < needed:
        yield (
            f"its timeout is {given} s, and a job of this type takes up to {needed} s with start and end",
            f"Set timeout=Duration.seconds({needed}), or a shorter timeout in job.toml",
        )
    if function.runtime.name != lambda_.Runtime.FROM_IMAGE.name:
        for name, own, ours in (
            ("runtime", function.runtime.name, queue.runtime.name),
            ("architecture", function.architecture.name, queue.architecture.name),
        ):
            if own != ours:
                yield f"its {name} is {own}, and Leasehold's layers are for {ours}", f"Set {name} of both alike"
    default = JobFolder(job_type=folder.job_type, path=folder.path)
    for name in ("memory_mb", "requirements", "log_retention_days", "reserved_concurrency"):
        if getattr(folder, name) != getattr(default, name):
            yield f"its job.toml sets {name.removesuffix('_mb')}, which is the function's own", "Set it there"


def _unusable(folder: JobFolder, reason: str, fix: str) -> ValueError:
    return ValueError(f"JobQueue: handlers, {folder.name}: this function cannot be its handler: {reason}. {fix}.")


class JobHandler(Construct):
    """`poller` is started when an end may free a seat that somebody waits for."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        queue: QueueContext,
        folder: JobFolder,
        poller: lambda_.IFunction,
        enqueues: Sequence[iam.PolicyStatement] = (),
        handler: Handler | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.folder = folder
        wakes = wakes_poller(folder.job_type, queue)
        environment = {
            **queue.environment,
            **{name: _filled_in(value) for name, value in folder.environment.items()},
            **queue.system_environment,
            **queue.sentry_environment,
            **({variables.POLLER_FUNCTION: poller.function_name} if wakes else {}),
        }
        statements = [
            *handler_statements(folder.job_type, queue, queue.jobs, queue.dead_letters),
            *enqueues,
            *([_may_wake(poller)] if wakes else []),
            *(_statement(number, each) for number, each in enumerate(folder.permissions)),
            *queue.sentry_statements,
            *queue.key_statements,
        ]
        policy: iam.Policy
        if handler is None:
            self.function, policy = self._made(queue, environment, statements)
        else:
            self.function = handler.taken_in(self, folder, queue)
            for name, value in {**environment, variables.FUNCTION: f"job-{folder.name}"}.items():
                self.function.add_environment(name, value)
            assert self.function.role is not None
            policy = iam.Policy(self, "Rights", roles=[self.function.role], statements=statements)
        self.code_name = _code_name(self.function, queue, folder)
        for permission in folder.permissions:
            for resource in (each for each in permission.resources if "*" in each or "?" in each):
                acknowledge_wildcard(policy, resource, str(permission.reason))

    def _made(
        self, queue: QueueContext, environment: Mapping[str, str], statements: Sequence[iam.PolicyStatement]
    ) -> tuple[lambda_.Function, iam.Policy]:
        folder = self.folder
        made = LeaseholdFunction(
            self,
            "Lambda",
            queue=queue,
            props=FunctionProps(
                name=f"job-{folder.name}",
                description=f"Handles {folder.name} jobs",
                timeout=Duration.seconds(function_timeout(folder.job_type).total_seconds()),
                memory_size=folder.memory_mb,
                environment={**environment, variables.HANDLER: f"{folder.path.replace('/', '.')}.handler"},
                statements=statements,
                # The entry is ours, and imports the handler: one that cannot be imported is seen on its jobs.
                handler="leasehold.runtime.entry.lambda_handler",
                max_event_age=_max_event_age(folder),
                is_in_a_circle=True,
                reserved_concurrent_executions=folder.reserved_concurrency,
                log_retention_days=folder.log_retention_days,
                code=handler_code(
                    self,
                    Path(folder.root, folder.path),
                    folder.requirements,
                    runtime=queue.runtime,
                    architecture=queue.architecture,
                ),
                layers=queue.layers,
            ),
        )
        return made.function, made.policy


def _max_event_age(folder: JobFolder) -> Duration:
    """Leasehold retries by itself; an event that is older than this is outside of its lease."""
    return Duration.seconds(folder.job_type.max_event_age.total_seconds())


def _code_name(function: lambda_.Function, queue: QueueContext, folder: JobFolder) -> str:
    """Names all that decides whether a handler can start: its code, the layers, its own variables."""
    resource = cast("lambda_.CfnFunction", function.node.default_child)
    code = cast("lambda_.CfnFunction.CodeProperty", resource.code)
    variables_of_its_own = {**queue.environment, **folder.environment}
    own = hashlib.sha256(json.dumps(variables_of_its_own, sort_keys=True).encode()).hexdigest()[:16]
    layers = (each.layer_version_arn for each in (*queue.system_layers, *queue.layers))
    deployed = code.s3_key or code.image_uri or hashlib.sha256(str(code.zip_file).encode()).hexdigest()
    return " ".join([deployed, own, *layers])


def wakes_poller(job_type: JobType, queue: QueueContext) -> bool:
    """Whether an end may free a seat that somebody waits for: then it starts a poller, faster than the stream does."""
    return job_type.is_limited or queue.concurrency is not None or queue.concurrency_policy is not None


def _may_wake(poller: lambda_.IFunction) -> iam.PolicyStatement:
    return iam.PolicyStatement(sid="WakePoller", actions=["lambda:InvokeFunction"], resources=[poller.function_arn])


def _statement(number: int, permission: Permission) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=f"Own{number}",
        actions=list(permission.actions),
        resources=[_filled_in(each) for each in permission.resources],
        conditions=dict(permission.conditions) or None,
    )


def _filled_in(resource: str) -> str:
    """Account and region are filled in by CloudFormation: they are not known where a job.toml is written."""
    known = {"${AWS::Partition}": Aws.PARTITION, "${AWS::Region}": Aws.REGION, "${AWS::AccountId}": Aws.ACCOUNT_ID}
    for placeholder, value in known.items():
        resource = resource.replace(placeholder, value)
    return resource


def folders_of(
    entry: str | Path | None, job_types: Sequence[JobFolder], handlers: Mapping[str, Handler]
) -> tuple[JobFolder, ...]:
    """All job types. A handler's module is named as in the project that the CDK is started in."""
    found = list(job_types)
    if entry is not None:
        place, root = Path(entry).absolute(), Path.cwd()
        root = root if place.is_relative_to(root) else place.parent
        below = PurePosixPath(place.relative_to(root).as_posix())
        try:
            found += load_job_folders(root, below, without_code=handlers.keys())
        except InvalidJobFolderError as error:
            raise ending_in_its_reason(error) from None
    names = [each.name for each in found]
    unknown = sorted(handlers.keys() - set(names))
    if unknown:
        raise ValueError(
            f"JobQueue: handlers, {', '.join(unknown)}: there is no such job type. "
            f"Add the folder {entry or 'jobs'}/{unknown[0]} with a job.toml."
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"JobQueue: {', '.join(twice)} is given twice. A job type has one folder: leave one out.")
    return tuple(found)
