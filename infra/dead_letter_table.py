"""The table of jobs that failed for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs import Construct

from infra.defined_table import defined_table
from leasehold.store.definition import DEAD_LETTERS

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

    from infra.stages import Stage


class DeadLetterTable(Construct):
    """Apart from the jobs, so that its stream carries nothing but dead letters."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage, key: kms.IKey | None) -> None:
        super().__init__(scope, construct_id)
        self.table = defined_table(self, DEAD_LETTERS, name="dead-letters", stage=stage, key=key)
