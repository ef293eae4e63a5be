"""The CDK app: the stacks of one stage. It calls nothing, so it can be synthesised without an account.

cdk deploy --all -c stage=prod
"""

from __future__ import annotations

from aws_cdk import App

from infra.data_stack import DataStack
from infra.paths import ROOT
from infra.queue_stack import QueueStack
from infra.stages import stage_named
from leasehold.settings.job_folder import load_job_folders


def build(app: App) -> App:
    stage = stage_named(app.node.try_get_context("stage") or "dev")
    data = DataStack(app, f"leasehold-{stage.name}-data", stage=stage)
    QueueStack(app, f"leasehold-{stage.name}-queue", stage=stage, data=data, folders=load_job_folders(ROOT))
    return app


if __name__ == "__main__":
    build(App()).synth()
