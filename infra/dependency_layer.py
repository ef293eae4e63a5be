"""Third-party packages as a Lambda layer, from hashed requirements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.bundling import with_packages
from infra.paths import DEPENDENCY_LAYER

if TYPE_CHECKING:
    from infra.stages import Stage


class DependencyLayer(Construct):
    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.layer = lambda_.LayerVersion(
            self,
            "Layer",
            layer_version_name=stage.named("dependencies"),
            description="What Leasehold imports besides boto3, which the runtime brings",
            code=with_packages(
                DEPENDENCY_LAYER,
                architecture=stage.architecture,
                requirements=(DEPENDENCY_LAYER / "requirements.txt").read_text(),
                into="python",
            ),
            compatible_runtimes=[lambda_.Runtime.PYTHON_3_13],
            compatible_architectures=[architecture_of(stage)],
        )


def architecture_of(stage: Stage) -> lambda_.Architecture:
    return lambda_.Architecture.ARM_64 if stage.architecture == "arm64" else lambda_.Architecture.X86_64
