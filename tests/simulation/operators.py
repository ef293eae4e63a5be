"""Operators: what people do to jobs and to the whole system while it runs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.kernel.errors import WrongStateError
from leasehold.kernel.keys import JobId, key_of
from leasehold.operate.purge import purge
from tests.simulation.deployments import redeployed
from tests.simulation.invariants.ending import OWN_REASON
from tests.simulation.network import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.kernel.payload import Json
    from tests.simulation.process import Process
    from tests.simulation.world import World


class OperatorAtWork:
    """Does one thing at a time to whatever is there; each has a reason of its own, by which its record is found."""

    def __init__(self, world: World, target: str | None = None) -> None:
        self._world = world
        self._random_source = world.random_source
        # The job that it is about, if somebody else acts on the same one.
        self._target = target

    def act(self, chore: str) -> None:
        if not self._world.plan.pairs:
            self._act(chore)
            return
        target = self._job()
        for _ in range(2):
            OperatorAtWork(self._world, target)._act(chore)

    def _act(self, chore: str) -> None:
        act, makes = CHORES[chore]
        self._world.coverage.actions[chore] += 1
        self._world.reasons += 1
        reason = f"{OWN_REASON}{self._world.reasons}"

        def body(process: Process, _: object) -> None:
            if act(self, process, reason) is not False:
                self._world.done[reason] = chore

        # CloudFormation makes one deployment at a time, to its end.
        function = DEPLOYMENT if chore == "redeploy" else "operator"
        if function != DEPLOYMENT or not self._world.fleet.is_running(DEPLOYMENT):
            self._world.fleet.invoke(function, "operator", body, makes=makes)

    def _job(self) -> str:
        if self._target is not None:
            return self._target
        jobs = list(self._world.watch.mirror.jobs.values())
        return str(self._random_source.choice(jobs)["job_id"]) if jobs else "no job"

    def cancel(self, process: Process, reason: str) -> object:
        return process.queue.cancel(self._job(), reason=reason)

    def retry(self, process: Process, reason: str) -> object:
        job_id = self._job()
        result = process.queue.retry(job_id, reason=reason)
        if result.created:
            self._world.acknowledge(result)
        # Another job that was not created: somebody had retried the dead one just before, and nothing was done.
        return result.created or result.job_id == job_id

    def reschedule(self, process: Process, reason: str) -> object:
        delay = timedelta(seconds=self._random_source.choice((0, 2, 20)))
        return process.queue.reschedule(self._job(), run_in=delay, reason=reason)

    def reprioritise(self, process: Process, reason: str) -> object:
        return process.queue.reprioritise(self._job(), self._random_source.choice((0, 1, 2, 3)), reason=reason)

    def edit(self, process: Process, reason: str) -> object:
        payload: dict[str, Json] = {"mode": "result", "seconds": round(self._random_source.random(), 3)}
        job_id = self._job()
        job = self._world.watch.mirror.jobs.get(key_of(JobId(job_id)) if job_id != "no job" else ("", ""), {})
        # A callback says what became of its group, which an invariant compares.
        if '"group":{' in str(job.get("payload")):
            raise WrongStateError(job_id, "edit", "the callback of a group", "Let it run.")
        return process.queue.edit(job_id, payload=payload, reason=reason)

    def move(self, process: Process, reason: str) -> object:
        job, other = self._job(), self._job()
        if self._random_source.random() < 0.5:
            return process.queue.move(job, reason=reason, before=other)
        return process.queue.move(job, reason=reason, after=other)

    def pause(self, process: Process, reason: str) -> object:
        return process.operator.pause(self._random_source.choice(self._world.plan.types), reason=reason)

    def unpause(self, process: Process, reason: str) -> object:
        return process.operator.unpause(self._random_source.choice(self._world.plan.types), reason=reason)

    def halt(self, process: Process, reason: str) -> object:
        return process.operator.halt(reason=reason)

    def resume(self, process: Process, reason: str) -> object:
        return process.operator.resume(reason=reason)

    def redrive(self, process: Process, reason: str) -> object:
        dead_letters = list(self._world.watch.mirror.dead_letters)
        if not dead_letters:
            return False
        dead_letter = self._random_source.choice(dead_letters)
        was_open = self._world.watch.mirror.dead_letters[dead_letter].get("open") is not None
        result = process.operator.redrive(dead_letter, reason=reason)
        if result.job_id is not None:
            self._world.acknowledged[result.job_id] = None
        return was_open and self._world.is_resolved_by(dead_letter, reason)

    def discard(self, process: Process, reason: str) -> object:
        dead_letters = list(self._world.watch.mirror.dead_letters)
        if not dead_letters:
            return False
        dead_letter = self._random_source.choice(dead_letters)
        process.operator.discard(dead_letter, reason=reason)
        return self._world.is_resolved_by(dead_letter, reason)

    def purge(self, process: Process, reason: str) -> object:
        job_id = self._job()
        # What a callback was told is looked at in the end.
        if '"group":{' in self._world.payload_of(job_id):
            return False
        return purge(job_id, process.services, reason=reason)

    def cancel_group(self, process: Process, reason: str) -> object:
        groups = [pk for pk, sk in self._world.watch.mirror.items if sk == "group"]
        if not groups:
            return False
        cancelled = process.queue.groups.cancel(
            self._random_source.choice(groups).removeprefix("group#"), reason=reason
        )
        return cancelled.reason == reason  # else it was being cancelled already, and nothing was done

    def redeploy(self, process: Process, reason: str) -> object:
        self._world.deploy(redeployed(self._world.registry, self._random_source), process)
        return False

    def update_schedule(self, process: Process, reason: str) -> object:
        random_source = self._random_source
        process.queue.schedules.update(
            random_source.choice(("s1", "s2")),
            every=timedelta(seconds=random_source.choice((30, 60, 90))),
            missed=random_source.choice(("latest", "all", "skip")),
            overlap=random_source.choice(("skip", "queue", "allow")),
            reason=reason,
        )
        return False  # one that changes nothing is not recorded

    def backfill(self, process: Process, reason: str) -> object:
        """Slots that nobody ran; never one that has had its job, however long ago."""
        now = process.now()
        process.queue.schedules.backfill(
            # One record for each slot that it makes.
            self._random_source.choice(("s1", "s2")),
            now - timedelta(seconds=self._random_source.choice((15, 90, 180))),
            now,
            reason=f"backfill, {reason}",
        )
        return False

    def end_schedule(self, process: Process, reason: str) -> object:
        name = self._random_source.choice(("s1", "s2"))
        if self._random_source.random() < 0.5:
            process.queue.schedules.pause(name, reason=reason)
            return False  # it may have been paused before, and then nothing was done
        process.queue.schedules.delete(name, reason=reason)
        return True


CHORES: dict[str, tuple[Callable[[OperatorAtWork, Process, str], object], int]] = {
    "cancel": (OperatorAtWork.cancel, 0),
    "retry": (OperatorAtWork.retry, 1),
    "reschedule": (OperatorAtWork.reschedule, 0),
    "reprioritise": (OperatorAtWork.reprioritise, 0),
    "edit": (OperatorAtWork.edit, 0),
    "move": (OperatorAtWork.move, 0),
    "pause": (OperatorAtWork.pause, 0),
    "unpause": (OperatorAtWork.unpause, 0),
    "halt": (OperatorAtWork.halt, 0),
    "resume": (OperatorAtWork.resume, 0),
    "redrive": (OperatorAtWork.redrive, 1),
    "discard": (OperatorAtWork.discard, 0),
    "purge": (OperatorAtWork.purge, 0),
    "cancel_group": (OperatorAtWork.cancel_group, 0),
    "redeploy": (OperatorAtWork.redeploy, 0),
    "end_schedule": (OperatorAtWork.end_schedule, 0),
    "update_schedule": (OperatorAtWork.update_schedule, 0),
    "backfill": (OperatorAtWork.backfill, 0),
}
