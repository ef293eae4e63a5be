"""Roots of the audit trails in an S3 bucket that nobody may overwrite: an object a day, put where there is none."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from leasehold.aws.settings import Settings
from leasehold.domain.errors import InvalidOptionError
from leasehold.domain.instants import from_text, to_text
from leasehold.engine.audit_root import Root

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mypy_boto3_s3 import S3Client

_FOLDER = "roots/"


class RootBucket:
    def __init__(self, client: S3Client, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def keep(self, root: Root) -> None:
        try:
            self._client.put_object(
                Bucket=self._bucket,
                Key=f"{_FOLDER}{to_text(root.at)}.json",
                Body=_text_of(root).encode(),
                ContentType="application/json",
                IfNoneMatch="*",
            )
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") != "PreconditionFailed":
                raise

    def all(self) -> Iterator[Root]:
        """By name, which is by date."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=_FOLDER)
        for page in pages:
            for entry in page.get("Contents", []):
                kept = self._client.get_object(Bucket=self._bucket, Key=entry["Key"])["Body"].read()
                yield _root_of(kept, entry["Key"])


class RootFolder:
    """A copy of the bucket on this machine, for auditors who bring their own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def keep(self, root: Root) -> None:
        with suppress(FileExistsError), (self._path / f"{to_text(root.at)}.json").open("x") as file:
            file.write(_text_of(root))

    def all(self) -> Iterator[Root]:
        return (_root_of(path.read_bytes(), path.name) for path in sorted(self._path.rglob("*.json")))


def _text_of(root: Root) -> str:
    return json.dumps({"at": to_text(root.at), "targets": root.targets, "digest": root.digest})


def _root_of(text: bytes, name: str) -> Root:
    try:
        document = json.loads(text)
        return Root(at=from_text(document["at"]), targets=document["targets"], digest=document["digest"])
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidOptionError(
            name, "this is no root of audit trails", "Somebody changed it, or put it there: look at its versions."
        ) from error


def open_bucket(name: str | None = None, **connection: Any) -> RootBucket:
    """The bucket that the environment names, or this one."""
    import boto3

    bucket = name or Settings.from_environment().audit_roots_bucket
    if bucket is None:
        raise InvalidOptionError(None, "no bucket for the roots of audit trails is known", "The stacks set it: deploy.")
    return RootBucket(boto3.client("s3", **connection), bucket)
