"""The library as a Lambda layer: the folder already has a layer's layout, so there is nothing to build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import IgnoreMode
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.paths import LIBRARY_LAYER, NOT_CODE

if TYPE_CHECKING:
    from infra.stages import Stage

# What only people and their tests use stays out of every cold start.
_NOT_FOR_LAMBDA = [f"**/leasehold/{each}/**" for each in ("cli", "console", "local", "testing", "verify")]


class CodeLayer(Construct):
    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self.layer = lambda_.LayerVersion(
            self,
            "Layer",
            layer_version_name=stage.named("code"),
            description="Leasehold itself",
            code=lambda_.Code.from_asset(
                str(LIBRARY_LAYER), exclude=[*NOT_CODE, *_NOT_FOR_LAMBDA], ignore_mode=IgnoreMode.GLOB
            ),
            compatible_runtimes=[lambda_.Runtime.PYTHON_3_13],
        )
