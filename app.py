"""The CDK app: the stacks of one stage. It calls nothing, so it can be synthesised without an account.

cdk deploy --all -c stage=prod
cdk synth -c stage=prod -c gates=true
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import App

from infra.data_stack import DataStack
from infra.gates import add_gates
from infra.paths import ROOT
from infra.queue_stack import QueueStack
from infra.stages import stage_named
from leasehold.settings.job_folder import EXERCISES, PROBE, load_job_folders

if TYPE_CHECKING:
    from pathlib import Path

    from infra.stages import Stage
    from leasehold.settings.job_toml import JobFolder


def build(app: App, *, root: Path = ROOT) -> App:
    """Add the stacks; `root` is the project whose `functions/jobs/` are deployed."""
    stage = stage_named(app.node.try_get_context("stage") or "dev")
    data = DataStack(app, f"leasehold-{stage.name}-data", stage=stage)
    folders = job_folders(stage, root)
    QueueStack(app, f"leasehold-{stage.name}-queue", stage=stage, data=data, folders=folders, root=root)
    if app.node.try_get_context("gates"):
        add_gates(app)
    return app


def job_folders(stage: Stage, root: Path = ROOT) -> tuple[JobFolder, ...]:
    """The job types that a stage deploys."""
    exercises = load_job_folders(root, EXERCISES) if stage.with_exercises else ()
    probe = load_job_folders(root, PROBE) if stage.with_probe else ()
    return (*load_job_folders(root), *exercises, *probe)


if __name__ == "__main__":
    build(App()).synth()
