"""With one guard of the library taken away, the crash tests fail: they would notice if it were lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.kernel.jobs import Jobs, insertion
from leasehold.kernel.keys import LATEST
from leasehold.kernel.table import Put, plain
from leasehold.kernel.transitions import COMPLETE, ENDED, RUNNING
from leasehold.limits.scopes import Seat
from leasehold.runtime.direct import run_directly
from tests.crash.faults import Fault
from tests.crash.harness import strike_everywhere
from tests.crash.test_crash_at_every_call import SCENARIOS

if TYPE_CHECKING:
    from leasehold.direct_runs.model import DirectAnswer, DirectRun
    from tests.crash.scenario import Scenario
    from tests.crash.world import Site

pytestmark = [pytest.mark.dynoxide]


def scenario(name: str) -> Scenario:
    return next(each for each in SCENARIOS if each.name == name)


def complete_with(monkeypatch: pytest.MonkeyPatch, **changes: object) -> None:
    monkeypatch.setattr("leasehold.kernel.execute.COMPLETE", replace(COMPLETE, **changes))  # type: ignore[arg-type]


def test_a_completion_by_somebody_who_lost_the_lease_is_noticed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    complete_with(monkeypatch, guards=())
    with pytest.raises(AssertionError, match="the rightful owner was shut out"):
        strike_everywhere(site, scenario("start and complete"), Fault.KILL_LATE)


def test_a_second_completion_is_noticed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    complete_with(monkeypatch, guards=(), sources=RUNNING | ENDED)
    with pytest.raises(AssertionError, match="completed twice"):
        strike_everywhere(site, scenario("start and complete"), Fault.LOST_RESPONSE)


def test_an_effect_that_happens_twice_is_noticed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    complete_with(monkeypatch, guards=(), sources=RUNNING | ENDED)
    with pytest.raises(AssertionError, match=r"completed twice|own write and the completion differ"):
        strike_everywhere(site, scenario("complete with the handler's own writes"), Fault.KILL_ECHO)


def test_a_finished_job_that_a_repeated_insert_brings_back_is_noticed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Put, "guards", property(lambda put: put.conditions or ()))
    # By a put, which overwrites: a statement that inserts could not.
    monkeypatch.setattr(Jobs, "insert", lambda jobs, job: jobs._table.write(insertion(job)))
    with pytest.raises(AssertionError, match=r"completed twice|shut out"):
        strike_everywhere(site, scenario("enqueue"), Fault.KILL_ECHO)


def test_a_second_job_for_one_dedup_key_is_noticed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Put, "guards", property(lambda put: put.conditions or ()))
    # As a transaction of puts: an INSERT has its guard in itself.
    monkeypatch.setattr(Put, "is_insertion", property(lambda put: bool(put.conditions)))
    with pytest.raises(AssertionError, match=r"share a dedup key|lost its key"):
        strike_everywhere(site, scenario("enqueue with a new dedup key"), Fault.KILL_AFTER, try_again=True)


def test_a_dead_job_without_its_dead_letter_is_noticed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Jobs, "apply_with", lambda jobs, write, _changes, **_: jobs.apply_and_read(write))
    with pytest.raises(AssertionError, match="dead jobs and dead letters differ"):
        strike_everywhere(site, scenario("fail for the last time"), Fault.KILL_AFTER)


def test_a_batch_of_claims_that_takes_what_others_have_is_noticed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.kernel.table.plain", lambda update: replace(plain(update), conditions=()))
    with pytest.raises(AssertionError, match=r"shut out|twice|ended"):
        strike_everywhere(site, scenario("poll a backlog"), Fault.KILL_ECHO)


def test_an_answer_that_does_not_recognise_its_own_write_is_noticed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    complete_with(monkeypatch, signature=None)
    with pytest.raises(AssertionError, match="shut out"):
        strike_everywhere(site, scenario("start and complete"), Fault.LOST_RESPONSE)


def test_a_direct_run_that_begins_so_late_that_jobs_run_beside_it_is_noticed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_any_time(run: DirectRun, *args: Any, **options: Any) -> DirectAnswer:
        return run_directly(replace(run, until=LATEST), *args, **options)

    monkeypatch.setattr("leasehold.runtime.direct.run_directly", at_any_time)
    with pytest.raises(pytest.fail.Exception, match="it ran beside"):
        strike_everywhere(site, scenario("run a limited type now"), Fault.KILL_LATE)


def test_a_seat_that_a_dead_caller_keeps_is_noticed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for_ever = datetime(2999, 1, 1, tzinfo=UTC)
    monkeypatch.setattr(
        "leasehold.direct_runs.next_slot.Seat", lambda **wanted: Seat(**wanted | {"held_until": for_ever})
    )
    with pytest.raises(AssertionError, match="never come to rest"):
        strike_everywhere(site, scenario("run a limited type now"), Fault.KILL_AFTER)
