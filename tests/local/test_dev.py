"""The dev loop pushes a folder's code together with the packages that were deployed with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from leasehold.aws import names as variables
from leasehold.local import dev
from leasehold.local.aws.inspection import DeployedFunction
from leasehold.local.aws.instance import LocalAws, Running

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.local.dev import JobFunction

HANDLER = "jobs.send_letter.handler"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "jobs" / "send_letter"
    made.mkdir(parents=True)
    (made / "handler.py").write_text("1")
    (made / "job.toml").write_text("")
    return made


@pytest.fixture
def function(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> JobFunction:
    (tmp_path / "cdk.json").write_text("{}")
    aws = LocalAws(tmp_path)
    asset = aws.folder / "cdk.out" / "asset.0a1b"
    (asset / "markdown").mkdir(parents=True)
    (asset / "markdown" / "core.py").write_text("a package")
    (asset / "handler.py").write_text("as it was deployed")
    properties = {"Code": {"S3Key": "0a1b.zip"}, "Environment": {"Variables": {variables.HANDLER: HANDLER}}}
    resources = {"Letter": {"Type": "AWS::Lambda::Function", "Properties": properties}, "Table": {"Type": "AWS::X"}}
    (aws.folder / "cdk.out" / "shop.template.json").write_text(json.dumps({"Resources": resources}))
    deployed = DeployedFunction("send_letter", "shop", "shop-1", "/logs", HANDLER)
    others = DeployedFunction("poller", "shop", "shop-2", "/logs", "")
    monkeypatch.setattr(dev, "deployed_functions", lambda _: [deployed, others])
    loop = dev.DevLoop(aws, Running(pid=1, port=4799, access_key="key", secret_key="secret"))
    (found,) = loop.functions
    return found


def test_packages_of_the_deployed_code_are_kept_and_the_folders_own_files_are_not(function: JobFunction) -> None:
    assert function.job_type == "send_letter"
    assert function.other_files == {"markdown/core.py": b"a package"}


def test_a_file_that_was_changed_made_or_removed_is_seen_once(function: JobFunction, folder: Path) -> None:
    assert function.changed_files() == set()

    (folder / "handler.py").write_text("22")
    (folder / "payload.py").write_text("")
    (folder / "job.toml").unlink()

    assert function.changed_files() == {folder / name for name in ("handler.py", "payload.py", "job.toml")}
    assert function.changed_files() == set()
