"""Templates as `cdk synth` writes them, made in this process: no account, no bundling, each stage once."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aws_cdk import App
from aws_cdk.assertions import Template

from app import build
from infra.data_stack import DataStack
from infra.paths import ROOT
from infra.queue_stack import QueueStack
from leasehold.settings.job_folder import load_job_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infra.stages import Stage
    from leasehold.settings.job_toml import JobFolder

type Resources = dict[str, dict[str, Any]]

CONTEXT = json.loads((ROOT / "cdk.json").read_text())["context"]
WITHOUT_BUNDLING: dict[str, Any] = {"aws:cdk:bundling-stacks": []}


@dataclass(frozen=True)
class Synthesised:
    """A stage's two templates, and what cdk-nag found in them."""

    data: dict[str, Any]
    queue: dict[str, Any]
    report: dict[str, Any]

    @property
    def resources(self) -> Resources:
        return {**self.data["Resources"], **self.queue["Resources"]}

    def of_type(self, resource_type: str) -> Resources:
        return {name: each for name, each in self.resources.items() if each["Type"] == resource_type}


@cache
def synthesised(stage: str) -> Synthesised:
    """What `cdk synth -c stage=<stage> -c gates=true` makes of this repository."""
    with tempfile.TemporaryDirectory(prefix=f"leasehold-synth-{stage}-") as out:
        app = App(context={**CONTEXT, **WITHOUT_BUNDLING, "stage": stage, "gates": True}, outdir=out)
        try:
            build(app).synth()
        except RuntimeError as error:  # findings fail synth; the report says which, and a test shows it
            if "ValidationFailed" not in str(error):
                raise
        return Synthesised(
            data=_json(Path(out) / f"leasehold-{stage}-data.template.json"),
            queue=_json(Path(out) / f"leasehold-{stage}-queue.template.json"),
            report=_json(Path(out) / "validation-report.json"),
        )


@cache
def template_of(stage: str, stack: str = "queue") -> Template:
    """One stack of a stage for `aws_cdk.assertions`."""
    made = synthesised(stage)
    return Template.from_json(made.queue if stack == "queue" else made.data)


def stacks_of(
    stage: Stage, folders: Sequence[JobFolder] | None = None, *, root: Path = ROOT
) -> tuple[DataStack, QueueStack]:
    """Both stacks of a stage that is in no file, by default with one job type only: it is quick."""
    app = App(context={**CONTEXT, **WITHOUT_BUNDLING})
    data = DataStack(app, "data", stage=stage)
    job_types = folders if folders is not None else [load_job_folder(ROOT, "daily_summary")]
    return data, QueueStack(app, "queue", stage=stage, data=data, folders=job_types, root=root)


def _json(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text())
    return loaded
