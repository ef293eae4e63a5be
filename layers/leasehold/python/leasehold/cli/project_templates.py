"""The files that a new project starts with, and those of a new job type.

Of a project `$name` is the name, `$class_name` its stack's. Of a job type they are its own and that of its class;
`$place` is the folder of job types, `$package` the same as a module, `$levels` how far a test is below the project.
"""

from __future__ import annotations

from string import Template

# By their paths in the project.
PROJECT = {
    "app.py": Template('''\
"""All that is deployed: a queue, and one function for each folder in jobs/."""

from aws_cdk import App, Stack

from leasehold.cdk import JobQueue

app = App()
stack = Stack(app, "$class_name")
JobQueue(stack, "Jobs", queue_name="$name", entry="jobs")
app.synth()
'''),
    "cdk.json": Template("""\
{
  "app": "python app.py",
  "output": "cdk.out",
  "versionReporting": false
}
"""),
    "package.json": Template("""\
{
  "name": "$name",
  "private": true,
  "devDependencies": {
    "aws-cdk": "$cdk_version"
  }
}
"""),
    "requirements.txt": Template("""\
leasehold[cdk,cli]==$version
pytest
"""),
    "pyproject.toml": Template("""\
[project]
name = "$name"
version = "0.1.0"
requires-python = ">=3.12"

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["."]
addopts = ["--import-mode=importlib"]
"""),
    ".gitignore": Template("""\
.venv/
.leasehold/
cdk.out/
node_modules/
__pycache__/
.pytest_cache/
"""),
    ".github/workflows/ci.yml": Template("""\
name: CI

on:
  push:
  pull_request:

permissions:
  contents: read

jobs:
  test:
    runs-on: ubuntu-latest
    timeout-minutes: 10
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.13"
      - uses: actions/setup-node@v4
        with:
          node-version: 22
      - run: pip install -r requirements.txt
      - run: npm install
      - run: pytest
      # What would be deployed can be synthesised and works, on an AWS of this machine's own.
      - run: leasehold local deploy
      - run: leasehold enqueue $job --local --payload '{"subject":"CI"}' --reason 'a test'
"""),
    "README.md": Template("""\
# $name

Jobs on AWS, with [Leasehold](https://pypi.org/project/leasehold/).

```
pip install -r requirements.txt
pytest                        # the job types, in memory
leasehold local deploy        # all of it, on this machine; no AWS account
leasehold enqueue $job --local --payload '{"subject":"ada"}' --reason 'to see it work'
leasehold status --local
leasehold local down
```

To your AWS account, with credentials as for every CDK app, and `npx cdk bootstrap` done once:

```
npm install                   # the CDK's command line, in the version that this Leasehold is tested with
npx cdk deploy
leasehold status --queue $name
```

- `jobs/$job/`: a job type: what a job is told (`payload.py`), what it does (`handler.py`), how it is run (`job.toml`).
- `leasehold new job NAME` makes another, with its test.
- `app.py`: what is deployed. `JobQueue` has a setting for most things; its docstring lists them.
- A program enqueues with `Queue.connect("$name").enqueue(...)`; `grant_enqueue` of the `JobQueue` gives it the right.

The tables stay when the stack is deleted, unless `app.py` says `removal_policy=RemovalPolicy.DESTROY`.
"""),
}

# By their names in the folder of the job type.
JOB = {
    "payload.py": Template('''\
"""What a $name job is told. Whoever enqueues one imports this: `queue.enqueue($class_name(subject="..."))`."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel


class $class_name(BaseModel):
    job_type: ClassVar[str] = "$name"

    subject: str
'''),
    "handler.py": Template('''\
"""What a $name job does: say it here."""

from __future__ import annotations

from $package.$name.payload import $class_name
from leasehold import BaseJobHandler, JobContext


class ${class_name}Handler(BaseJobHandler[$class_name]):
    def handle(self, payload: $class_name, context: JobContext) -> dict[str, str]:
        # It may be started again after a crash: give context.idempotency_key to whatever must not be done twice.
        context.logger.info("working", extra={"subject": payload.subject})
        return {"subject": payload.subject}
'''),
    "job.toml": Template("""\
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
"""),
}

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
