"""A write that was refused may have been made already, by a try whose answer was lost: whose is what is stored?"""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta

import pytest

from leasehold.kernel.job_type import JobType
from leasehold.kernel.jobs import Write
from leasehold.kernel.keys import Due, job
from leasehold.kernel.records import encode
from leasehold.kernel.refusals import TransitionRefused, own_or_refused
from leasehold.kernel.table import ConditionFailed
from leasehold.kernel.transitions import EXTEND
from leasehold.testing import LeaseholdTest
from tests.stories.recording import START

UNTIL = START + timedelta(minutes=10)


@pytest.mark.parametrize(
    ("owner", "until", "status", "is_own"),
    [
        pytest.param("mine", UNTIL, "in_progress", True, id="as it was written"),
        pytest.param("another's", UNTIL, "in_progress", False, id="the next owner wrote the same by chance"),
        pytest.param("mine", START, "in_progress", False, id="not written"),
    ],
)
def test_an_extension_that_is_stored_already_is_its_writer_s_own_while_its_lease_is(owner, until, status, is_own):
    world = LeaseholdTest(types=[JobType(name="report")])
    job_id = world.queue.enqueue("report").job_id
    write = Write(
        job_id=job_id,
        transition=EXTEND,
        seen={"locked_by": "mine", "now": START, "until": UNTIL},
        values={"lock_expires_at": UNTIL, "due_key": Due(UNTIL, "a", job_id)},
    )
    stored = {
        **(world.services.store.table.get(job(job_id)) or {}),
        "status": status,
        "locked_by": owner,
        "lock_expires_at": encode(until),
    }

    with nullcontext() if is_own else pytest.raises(TransitionRefused, match=f"extend of job {job_id} was refused"):
        assert own_or_refused(write, stored) == stored


def test_who_meets_a_refused_write_is_told_what_it_is():
    assert str(ConditionFailed(None)) == "the condition of a write did not hold"
