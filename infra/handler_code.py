"""A handler's code: its folder, with the packages that only this job type needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import IgnoreMode
from aws_cdk import aws_lambda as lambda_

from infra.bundling import with_packages
from infra.paths import NOT_CODE

if TYPE_CHECKING:
    from pathlib import Path

    from infra.stages import Stage
    from leasehold.settings.job_toml import JobFolder


def handler_code(root: Path, folder: JobFolder, stage: Stage) -> lambda_.Code:
    path = root / folder.path
    if not folder.requirements:
        return lambda_.Code.from_asset(str(path), exclude=NOT_CODE, ignore_mode=IgnoreMode.GLOB)
    requirements = "\n".join(folder.requirements) + "\n"
    return with_packages(path, architecture=stage.architecture, requirements=requirements, into="", copies=True)
