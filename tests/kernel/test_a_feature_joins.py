"""How much a new feature needs: a folder of its own, and a line in features.py. No file of the kernel."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel

import leasehold
from leasehold import BaseJobHandler, JobType, features
from leasehold.kernel.hooks import Feature
from leasehold.kernel.table import JOBS, Key
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

# The whole of it: counts how jobs end, in the same write as the end, so that none is counted twice and none is not.
COUNTS = """
from leasehold.kernel.hooks import Hooks, Joining
from leasehold.kernel.table import JOBS, Key, Update


class CountHooks(Hooks):
    def with_end(self, end, services):
        if end.step.target is None or not end.step.target.has_ended:
            return Joining()
        counter = Key(JOBS, ("counts", end.job.job_type))
        return Joining(changes=[Update(key=counter, conditions=(), adds={end.step.target.value: 1})])
"""


class Payload(BaseModel):
    fails: bool = False


class Handler(BaseJobHandler[Payload]):
    def handle(self, payload: Payload) -> None:
        if payload.fails:
            raise ValueError("not today")


def test_a_feature_that_counts_ends_is_one_new_folder_and_no_file_of_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "counts"
    folder.mkdir()
    (folder / "ends.py").write_text(COUNTS)
    monkeypatch.setattr("leasehold.__path__", [*leasehold.__path__, str(tmp_path)])
    # The line in features.py:
    counts = Feature(
        name="counts",
        load=partial(features._load, "counts.ends", "CountHooks"),
        concerns=lambda _job, job_type: job_type.name == "counted",
    )
    monkeypatch.setattr(features, "FEATURES", (*features.FEATURES, counts))

    test = LeaseholdTest()
    for name in ("counted", "other"):
        test.register(name, Handler, JobType(name=name, max_attempts=2))
        for fails in (False, False, True):
            test.queue.enqueue(name, {"fails": fails})
    test.drain(until_idle=True)

    def counted(job_type: str) -> dict[str, object] | None:
        return cast("dict[str, object] | None", test.queue.services.store.table.get(Key(JOBS, ("counts", job_type))))

    found = counted("counted")
    assert found is not None
    assert (found["completed"], found["dead_letter"]) == (2, 1)
    assert counted("other") is None
