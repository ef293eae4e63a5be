"""A write brings the values that its transition sets, and no others: a mistake of the code, not of its users."""

from __future__ import annotations

import pytest

from leasehold.kernel.jobs import Write, transition
from leasehold.kernel.keys import JobPartition, make_job_id
from leasehold.kernel.transitions import TRANSITIONS
from tests.stories.recording import START

JOB_ID = make_job_id(START, JobPartition(1), 7)
SETTING = [each for each in TRANSITIONS if each.sets]


@pytest.mark.parametrize("step", SETTING, ids=lambda each: each.name)
def test_what_a_transition_sets_has_to_be_brought(step):
    with pytest.raises(TypeError, match="lacks"):
        transition(Write(job_id=JOB_ID, transition=step, seen={}, values={}))


def test_what_no_transition_sets_is_refused():
    step = next(each for each in TRANSITIONS if not each.sets)

    with pytest.raises(TypeError, match="does not take"):
        transition(Write(job_id=JOB_ID, transition=step, seen={}, values={"odd": 1}))
