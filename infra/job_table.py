"""The table that holds every job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constructs import Construct

from infra.defined_table import defined_table
from leasehold.store.definition import ENDED_INDEX, JOBS

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

    from infra.stages import Stage


class JobTable(Construct):
    """Jobs, dedup records, switches and seats: one table, since some writes span them."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage, key: kms.IKey | None) -> None:
        super().__init__(scope, construct_id)
        without = frozenset() if stage.ended_index else frozenset({ENDED_INDEX})
        self.table = defined_table(
            self,
            JOBS,
            name="jobs",
            stage=stage,
            key=key,
            without=without,
            with_old_images=stage.lifecycle_events,
        )
