"""Archives of roots: an S3 bucket that keeps every version, and a folder with a copy of it for auditors."""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import suppress
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from leasehold.audit.roots import Flaw, KeptRoots, Root
from leasehold.aws.settings import Settings
from leasehold.kernel.errors import InvalidOptionError
from leasehold.kernel.keys import from_text, to_text

if TYPE_CHECKING:
    from pathlib import Path

    from mypy_boto3_s3 import S3Client

_FOLDER = "roots/"


class RootBucket:
    """Versions are what holds: whoever may put or delete an object makes a new version, and the first one stays."""

    def __init__(self, client: S3Client, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def keep(self, root: Root) -> None:
        try:
            self._client.put_object(
                Bucket=self._bucket,
                Key=f"{_FOLDER}{_file_name(root)}",
                Body=_text_of(root).encode(),
                ContentType="application/json",
                IfNoneMatch="*",
            )
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") != "PreconditionFailed":
                raise

    def read(self) -> KeptRoots:
        """The first version of every root; later versions and delete markers are flaws."""
        versions, deletions = self._history()
        kept = KeptRoots(place=f"s3://{self._bucket}/{_FOLDER}")
        for key in sorted({*versions, *deletions}):
            name = f"root {key.removeprefix(_FOLDER)}"
            # S3 lists the versions of an object from the newest to the oldest; dates are too coarse to order them by.
            written = versions.get(key, [])[::-1]
            for at, _ in written[1:]:
                kept.flaws.append(Flaw(name, f"somebody wrote another version of it at {at}"))
            for at in deletions.get(key, []):
                kept.flaws.append(Flaw(name, f"somebody deleted it at {at}"))
            if not written:
                kept.flaws.append(Flaw(name, "its first version is gone"))
                continue
            answer = self._client.get_object(Bucket=self._bucket, Key=key, VersionId=written[0][1])
            _take(answer["Body"].read(), key.removeprefix(_FOLDER), kept)
        kept.roots.sort(key=attrgetter("at"))
        return kept

    def _history(self) -> tuple[dict[str, list[tuple[str, str]]], dict[str, list[str]]]:
        """Per key, when each version was written and its id; and when it was deleted."""
        versions: dict[str, list[tuple[str, str]]] = defaultdict(list)
        deletions: dict[str, list[str]] = defaultdict(list)
        pages = self._client.get_paginator("list_object_versions").paginate(Bucket=self._bucket, Prefix=_FOLDER)
        for page in pages:
            for version in page.get("Versions", []):
                versions[version["Key"]].append((version["LastModified"].isoformat(), version["VersionId"]))
            for marker in page.get("DeleteMarkers", []):
                deletions[marker["Key"]].append(marker["LastModified"].isoformat())
        return versions, deletions


class RootFolder:
    """A copy of the bucket on this machine, for auditors who bring their own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def keep(self, root: Root) -> None:
        with suppress(FileExistsError), (self._path / _file_name(root)).open("x") as file:
            file.write(_text_of(root))

    def read(self) -> KeptRoots:
        kept = KeptRoots(place=str(self._path))
        for path in self._path.rglob("*.json"):
            _take(path.read_bytes(), path.name, kept)
        kept.roots.sort(key=attrgetter("at"))
        return kept


def open_bucket(name: str | None = None, **connection: Any) -> RootBucket:
    """The bucket that the environment names, or this one."""
    import boto3

    bucket = name or Settings.from_environment().audit_roots_bucket
    if bucket is None:
        raise InvalidOptionError(None, "no bucket for the roots of audit trails is known", "The stacks set it: deploy.")
    return RootBucket(boto3.client("s3", **connection), bucket)


def _take(content: bytes, name: str, kept: KeptRoots) -> None:
    try:
        document = json.loads(content)
        root = Root(at=from_text(document["at"]), targets=document["targets"], digest=document["digest"])
    except (KeyError, TypeError, ValueError):
        kept.flaws.append(Flaw(f"root {name}", "it is no root: somebody changed it, or put it there"))
        return
    if name != _file_name(root):
        kept.flaws.append(Flaw(f"root {name}", f"it is the root of {to_text(root.at)}, under another name"))
    kept.roots.append(root)


def _file_name(root: Root) -> str:
    return f"{to_text(root.at)}.json"


def _text_of(root: Root) -> str:
    return json.dumps({"at": to_text(root.at), "targets": root.targets, "digest": root.digest})
