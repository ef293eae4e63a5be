"""Roots in a bucket: the first version counts, and whoever writes or deletes another one leaves a finding."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import boto3
import pytest
from moto import mock_aws

from leasehold.audit.keys import audit_head_key, audit_partition, audit_record_key
from leasehold.audit.roots import check_roots, keep_root
from leasehold.aws.archive import RootBucket
from leasehold.kernel.table import JOBS, Delete
from leasehold.testing import FakeClock
from tests.worlds import spied_queue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_s3 import S3Client

    from leasehold import Queue

DAY = timedelta(days=1)


@pytest.fixture
def s3(aws_environment: None) -> Iterator[S3Client]:
    with mock_aws():
        client = boto3.client("s3")
        client.create_bucket(Bucket="roots")
        client.put_bucket_versioning(Bucket="roots", VersioningConfiguration={"Status": "Enabled"})
        yield client


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(clock: FakeClock) -> Queue:
    queue, _ = spied_queue(clock=clock)
    job_id = queue.enqueue("user_sync", run_in=DAY).job_id
    queue.cancel(job_id, reason="not needed")
    clock.advance(timedelta(hours=2))
    return queue


def problems(queue: Queue, archive: RootBucket) -> list[str]:
    return [flaw.problem for flaw in check_roots(archive.read(), queue.services)]


def rewrite(queue: Queue) -> None:
    """Remove what was done as if it had never been: the chains alone look well afterwards."""
    table = queue.services.store.table
    (head,) = list(queue.services.store.audits.heads())
    for record in table.query(JOBS, audit_partition(head.target), limit=9).records:
        table.write(Delete(key=audit_record_key(str(record["PK"]), str(record["SK"])), conditions=()))
    table.write(Delete(key=audit_head_key(head.target), conditions=()))


def test_roots_are_kept_once_a_moment_and_hold(s3: S3Client, queue: Queue, clock: FakeClock) -> None:
    archive = RootBucket(s3, "roots")
    for _ in range(3):
        keep_root(queue.services, archive)
        clock.advance(DAY)

    kept = archive.read()

    assert len(kept.roots) == 3
    assert kept.place == "s3://roots/roots/"
    assert problems(queue, archive) == []


def test_a_new_version_of_a_root_does_not_hide_a_rewritten_trail(s3: S3Client, queue: Queue) -> None:
    archive = RootBucket(s3, "roots")
    keep_root(queue.services, archive)
    (key,) = (each["Key"] for each in s3.list_objects_v2(Bucket="roots")["Contents"])
    rewrite(queue)
    forged = RootBucket(s3, "roots")
    s3.put_object(Bucket="roots", Key=key, Body=_root_now(queue))

    found = problems(queue, forged)

    assert found[0].startswith("somebody wrote another version of it at ")
    assert found[1:] == ["the trails of that day no longer lead to it"]


def test_a_delete_marker_does_not_hide_a_rewritten_trail(s3: S3Client, queue: Queue) -> None:
    archive = RootBucket(s3, "roots")
    keep_root(queue.services, archive)
    (key,) = (each["Key"] for each in s3.list_objects_v2(Bucket="roots")["Contents"])
    rewrite(queue)
    s3.delete_object(Bucket="roots", Key=key)

    found = problems(queue, archive)

    assert found[0].startswith("somebody deleted it at ")
    assert found[1:] == ["the trails of that day no longer lead to it"]


def test_a_root_whose_every_version_was_removed_leaves_a_day_without_one(
    s3: S3Client, queue: Queue, clock: FakeClock
) -> None:
    archive = RootBucket(s3, "roots")
    for _ in range(3):
        keep_root(queue.services, archive)
        clock.advance(DAY)
    second = s3.list_object_versions(Bucket="roots")["Versions"][1]
    s3.delete_object(Bucket="roots", Key=second["Key"], VersionId=second["VersionId"])

    assert problems(queue, archive) == ["it is missing: nobody kept a root that day, or somebody removed it"]


def _root_now(queue: Queue) -> bytes:
    class Shelf(RootBucket):
        body = b""

        def __init__(self) -> None:
            return

        def keep(self, root: object) -> None:
            from leasehold.aws.archive import _text_of

            self.body = _text_of(root).encode()  # type: ignore[arg-type]

    shelf = Shelf()
    keep_root(queue.services, shelf)
    return shelf.body
