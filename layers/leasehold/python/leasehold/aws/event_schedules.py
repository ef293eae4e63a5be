"""Schedules in EventBridge Scheduler: they wake the trigger function, which asks the table what to do."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

from leasehold.aws.clients import open_client, tries
from leasehold.aws.names import event_schedule_name, wake_event

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_scheduler import EventBridgeSchedulerClient

    from leasehold.aws.settings import Settings
    from leasehold.schedules.model import Schedule
    from leasehold.schedules.trigger import ScheduleMirror

# A wake that comes later than this finds that a tick was there before it.
_RETRY = {"MaximumRetryAttempts": 2, "MaximumEventAgeInSeconds": 120}
_UNKNOWN, _EXISTS = "ResourceNotFoundException", "ConflictException"


class EventSchedules:
    def __init__(
        self, connect: Callable[[], EventBridgeSchedulerClient], *, group: str, function_arn: str, role_arn: str
    ) -> None:
        self._connect = connect
        self._group = group
        self._target = {"Arn": function_arn, "RoleArn": role_arn, "RetryPolicy": _RETRY}

    def put(self, schedule: Schedule) -> None:
        from leasehold.schedules.recurrence import expression_of

        expression = expression_of(schedule.recurrence)
        if expression is None or not schedule.is_active:
            # What EventBridge cannot say, the tick finds; an old expression would only wake for nothing.
            self.delete(schedule.name)
            return
        request = {
            **self._key(schedule.name),
            "ScheduleExpression": expression[0],
            "ScheduleExpressionTimezone": expression[1],
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "State": "ENABLED",
            "Target": {**self._target, "Input": wake_event(schedule.name)},
        }
        # Most changes are to one that is there; one that appears meanwhile was put by another poller.
        if not self._call("update_schedule", request, or_if=_UNKNOWN) and not self._call(
            "create_schedule", request, or_if=_EXISTS
        ):
            self._call("update_schedule", request)

    def delete(self, name: str) -> None:
        self._call("delete_schedule", self._key(name), or_if=_UNKNOWN)

    def _key(self, name: str) -> dict[str, str]:
        return {"GroupName": self._group, "Name": event_schedule_name(name)}

    def _call(self, operation: str, request: dict[str, Any], *, or_if: str | None = None) -> bool:
        """False if EventBridge answered `or_if`."""
        from botocore.exceptions import BotoCoreError, ClientError

        from leasehold.schedules.trigger import MirrorError

        try:
            getattr(self._connect(), operation)(**request)
        except ClientError as error:
            if error.response["Error"]["Code"] == or_if:
                return False
            raise MirrorError(f"EventBridge refused {operation} of {request['Name']}: {error}") from error
        except BotoCoreError as error:
            raise MirrorError(f"EventBridge was not reached for {operation} of {request['Name']}: {error}") from error
        return True


def mirror_of(settings: Settings) -> ScheduleMirror | None:
    group, function, role = settings.schedule_group, settings.schedule_function, settings.schedule_role
    if not group or not function or not role:
        return None
    return EventSchedules(_connect, group=group, function_arn=function, role_arn=role)


@cache
def _connect() -> EventBridgeSchedulerClient:
    """When the first schedule is told, which most containers never see."""
    return cast("EventBridgeSchedulerClient", open_client("scheduler", tries(3, read=5)))
