"""The files that a new job type starts with. `$name` is the job type, `$class_name` the same as a class is named.

`$place` is the folder of job types, `$package` the same as a module, `$levels` how far a test is below the project.
"""

from __future__ import annotations

from string import Template

PAYLOAD = Template('''\
"""What a $name job is told. Whoever enqueues one imports this: `queue.enqueue($class_name(subject="..."))`."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel


class $class_name(BaseModel):
    job_type: ClassVar[str] = "$name"

    subject: str
''')

HANDLER = Template('''\
"""What a $name job does: say it here."""

from __future__ import annotations

from $package.$name.payload import $class_name
from leasehold import BaseJobHandler, JobContext


class ${class_name}Handler(BaseJobHandler[$class_name]):
    def handle(self, payload: $class_name, context: JobContext) -> dict[str, str]:
        # It may be started again after a crash: give context.idempotency_key to whatever must not be done twice.
        context.logger.info("working", extra={"subject": payload.subject})
        return {"subject": payload.subject}
''')

SETTINGS = Template("""\
timeout = "1m" # at most 15 minutes
memory = 256 # MB
concurrency = 1 # how many may run at once: a number, or "unlimited"
priority = "normal" # low, normal, high or critical
max_attempts = 5
check_payload = true # whether a payload that does not fit the model is refused before there is a job
audit_creation = true # whether a job that a person creates leaves an audit record
reported_fields = [] # payload fields that error reports may show

[retry]
policy = "exponential" # or "fixed" with a delay, or "delays" with a list of them
base = "1m"

# How long ended jobs stay readable; a dead letter stays until it is resolved, and then for as long as this:
# [retention]
# completed = "7d"
# cancelled = "7d"
# dead_letter = "30d"

# To pause the type by itself when its runs fail, and try one job at a time until it works again:
# [circuit_breaker]
# failure_rate = 0.5
# min_runs = 20

# [environment]
# REPORT_BUCKET = "my-reports"

# What the handler calls, beyond its own job:
# [[permissions]]
# actions = ["s3:PutObject"]
# resources = ["arn:$${AWS::Partition}:s3:::my-reports/$name.json"]

# To make jobs by themselves:
# [schedule]
# rate = "30 minutes" # or cron = "0 9 * * 1-5" with timezone = "Europe/Berlin"
# payload = { subject = "all" }
""")

TEST = Template('''\
"""$name jobs, in memory, with the settings that their folder deploys."""

from pathlib import Path, PurePosixPath

import pytest

from $package.$name.handler import ${class_name}Handler
from $package.$name.payload import $class_name
from leasehold.job_folders.folder import load_job_folder
from leasehold.kernel.errors import InvalidPayloadError
from leasehold.testing import LeaseholdTest

ROOT = Path(__file__).parents[$levels]


@pytest.fixture
def deployed(leasehold: LeaseholdTest) -> LeaseholdTest:
    folder = load_job_folder(ROOT, "$name", PurePosixPath("$place"))
    leasehold.register("$name", ${class_name}Handler, folder.job_type)
    return leasehold


def test_a_job_completes_with_its_result(deployed: LeaseholdTest) -> None:
    job_id = deployed.queue.enqueue($class_name(subject="ada")).job_id
    assert deployed.drain()["completed"] == 1
    assert deployed.queue.get(job_id).result == {"subject": "ada"}


def test_a_payload_that_does_not_fit_is_refused_before_there_is_a_job(deployed: LeaseholdTest) -> None:
    with pytest.raises(InvalidPayloadError, match="subject is missing"):
        deployed.queue.enqueue("$name", {})
''')
