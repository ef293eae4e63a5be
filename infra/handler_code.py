"""A handler's code: its folder, with the packages that only this job type needs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from aws_cdk import IgnoreMode
from aws_cdk import aws_lambda as lambda_

from infra.bundling import with_packages
from infra.paths import NOT_CODE, ROOT

if TYPE_CHECKING:
    from infra.stages import Stage
    from leasehold.settings.job_toml import JobFolder


def handler_code(folder: JobFolder, stage: Stage) -> lambda_.Code:
    path = ROOT / folder.path
    if not folder.requirements:
        return lambda_.Code.from_asset(str(path), exclude=NOT_CODE, ignore_mode=IgnoreMode.GLOB)
    requirements = Path(tempfile.mkdtemp(prefix="leasehold-requirements-")) / "requirements.txt"
    requirements.write_text("\n".join(folder.requirements) + "\n")
    copies = [each.name for each in path.iterdir() if each.is_file() and each.name != "job.toml"]
    return with_packages(path, architecture=stage.architecture, requirements=requirements, into="", copies=copies)
