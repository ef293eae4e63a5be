"""The files that a new project starts with. `$name` is the project's name, `$class_name` its stack's."""

from __future__ import annotations

from string import Template

APP = Template('''\
"""All that is deployed: a queue, and one function for each folder in jobs/."""

from aws_cdk import App, Stack

from leasehold.cdk import JobQueue

app = App()
stack = Stack(app, "$class_name")
JobQueue(stack, "Jobs", queue_name="$name", entry="jobs")
app.synth()
''')

CDK = Template("""\
{
  "app": "python app.py",
  "output": "cdk.out",
  "versionReporting": false
}
""")

PACKAGE = Template("""\
{
  "name": "$name",
  "private": true,
  "devDependencies": {
    "aws-cdk": "$cdk_version"
  }
}
""")

REQUIREMENTS = Template("""\
leasehold[cdk,cli]==$version
pytest
""")

PYPROJECT = Template("""\
[project]
name = "$name"
version = "0.1.0"
requires-python = ">=3.12"

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["."]
addopts = ["--import-mode=importlib"]
""")

GITIGNORE = Template("""\
.venv/
.leasehold/
cdk.out/
node_modules/
__pycache__/
.pytest_cache/
""")

CI = Template("""\
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
""")

README = Template("""\
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
""")
