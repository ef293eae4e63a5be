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

from app import ROOT, build
from infra.stacks import DataStack, QueueStack
from leasehold.job_folders.folder import load_job_folder
from tests.infra.cloudformation import with_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infra.environments import Environment
    from leasehold.job_folders.job_toml import JobFolder

type Resources = dict[str, dict[str, Any]]

CONTEXT = {**json.loads((ROOT / "cdk.json").read_text())["context"], "aws:cdk:enable-path-metadata": True}
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
        app = App(context={**CONTEXT, **WITHOUT_BUNDLING, "environment_name": stage, "gates": True}, outdir=out)
        try:
            build(app).synth()
        except RuntimeError as error:  # findings fail synth; the report says which, and a test shows it
            if "ValidationFailed" not in str(error):
                raise
        return Synthesised(
            data=with_names(_json(Path(out) / f"leasehold-{stage}-data.template.json"), stage),
            queue=with_names(_json(Path(out) / f"leasehold-{stage}-queue.template.json"), stage),
            report=_json(Path(out) / "validation-report.json"),
        )


@cache
def template_of(stage: str, stack: str = "queue") -> Template:
    """One stack of a stage for `aws_cdk.assertions`."""
    made = synthesised(stage)
    return Template.from_json(made.queue if stack == "queue" else made.data)


def stacks_of(stage: Environment, folders: Sequence[JobFolder] | None = None) -> tuple[DataStack, QueueStack]:
    """Both stacks of an environment that is in no file, by default with one job type only: it is quick."""
    app = App(context={**CONTEXT, **WITHOUT_BUNDLING})
    data = DataStack(app, "data", environment=stage)
    job_types = folders if folders is not None else [load_job_folder(ROOT, "daily_summary")]
    return data, QueueStack(app, "queue", environment=stage, data=data, folders=job_types)


def templates_of(stage: Environment, folders: Sequence[JobFolder] | None = None) -> tuple[Template, Template]:
    data, queue = stacks_of(stage, folders)
    named = (with_names(dict(Template.from_stack(each).to_json()), stage.name) for each in (data, queue))
    made, other = (Template.from_json(each) for each in named)
    return made, other


def _json(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text())
    return loaded
