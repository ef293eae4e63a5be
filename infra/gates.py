"""The rules that every synthesised stage is held to: cdk-nag's packs of AWS solutions and serverless applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Validations

if TYPE_CHECKING:
    from aws_cdk import App


def add_gates(app: App) -> None:
    """Fail synth on any finding that infra/acknowledgements.py does not acknowledge."""
    # Needed by developers only: a deployment without the development packages must not need it.
    from cdk_nag import AwsSolutionsChecks, ServerlessChecks

    Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
