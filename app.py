"""The reference app: the stacks of one environment, with the example job types. It calls nothing while it synthesises.

cdk deploy --all -c environment_name=prod
cdk synth -c environment_name=prod -c gates=true
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aws_cdk import App

from infra.environments import environment_named
from infra.gates import add_gates
from infra.stacks import DataStack, QueueStack
from leasehold.job_folders.folder import EXERCISES, load_job_folders

if TYPE_CHECKING:
    from infra.environments import Environment
    from leasehold.job_folders.job_toml import JobFolder

ROOT = Path(__file__).parent


def build(app: App, *, root: Path = ROOT) -> App:
    """Add the stacks; `root` is the project whose `functions/jobs/` are deployed."""
    environment = environment_named(app.node.try_get_context("environment_name") or "dev")
    data = DataStack(app, f"leasehold-{environment.name}-data", environment=environment)
    folders = job_folders(environment, root)
    QueueStack(app, f"leasehold-{environment.name}-queue", environment=environment, data=data, folders=folders)
    if app.node.try_get_context("gates"):
        add_gates(app)
    return app


def job_folders(environment: Environment, root: Path = ROOT) -> tuple[JobFolder, ...]:
    """The job types that an environment deploys."""
    exercises = load_job_folders(root, EXERCISES) if environment.with_exercises else ()
    return (*load_job_folders(root), *exercises)


if __name__ == "__main__":
    build(App()).synth()
