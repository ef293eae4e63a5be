"""The local AWS of a project: what is no longer it is left alone, and nothing is deployed twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from leasehold import JobType, Operator, Registry
from leasehold.aws import discovery
from leasehold.cli.commands import app
from leasehold.kernel.errors import DeploymentError, InvalidOptionError
from leasehold.local.aws import connection, deployment, inspection
from leasehold.local.aws.instance import LocalAws, Running
from leasehold.testing import LeaseholdTest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def aws(tmp_path: Path) -> LocalAws:
    (tmp_path / "cdk.json").write_text("{}")
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions" / "handler.py").write_text("1")
    return LocalAws(tmp_path)


@pytest.fixture
def cdk(aws: LocalAws, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the CDK was asked for, instead of doing it."""
    aws.folder.mkdir(parents=True)
    asked: list[str] = []
    monkeypatch.setattr(deployment, "run_cdk", lambda _aws, _running, command, *_, **__: asked.append(command))
    return asked


def running(pid: int = 1) -> Running:
    return Running(pid=pid, port=4799, access_key="key", secret_key="secret")


def deploy(aws: LocalAws, pid: int = 1) -> bool:
    return deployment.deploy(aws, running(pid), say=lambda _: None)


def test_the_status_names_an_api_by_an_address_that_resolves_and_the_host_that_leads_to_it(
    aws: LocalAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {
        "get_apis.return_value": {"Items": [{"Name": "shop", "ApiId": "0a1b2c3d"}]},
        "describe_stacks.return_value": {"Stacks": []},
        "get_paginator.return_value.paginate.return_value": [],
    }
    monkeypatch.setattr(inspection, "client", lambda *_: Mock(**answers))
    monkeypatch.setattr(LocalAws, "running", lambda _: running())

    said = CliRunner().invoke(app, ["local", "status", "--root", str(aws.root)]).output

    host = "Host: 0a1b2c3d.execute-api.localhost:4799"
    assert f"API      shop  http://127.0.0.1:4799/api with the header '{host}'" in said


def test_a_deployment_says_which_types_it_left_behind_with_jobs(aws: LocalAws, monkeypatch: pytest.MonkeyPatch) -> None:
    test = LeaseholdTest()
    types = {name: JobType(name=name) for name in ("send_letter", "send_parcel", "count_stock")}
    Operator(test.queue.services).publish(Registry(types=types))
    for name in ("send_letter", "send_letter", "count_stock"):
        test.queue.enqueue(name, {})
    Operator(test.queue.services).publish(Registry(types={"count_stock": types["count_stock"]}))
    for place, name, answer in (
        (discovery, "all_published", [Mock(queue_name="shop")]),
        (connection, "open_queue", test.queue),
        (inspection, "client", None),
        (deployment, "deploy", True),
        (LocalAws, "up", running()),
    ):
        monkeypatch.setattr(place, name, lambda *_, answer=answer, **__: answer)

    said = CliRunner().invoke(app, ["local", "deploy", "--root", str(aws.root)]).output

    assert "send_letter is not deployed any more: 2 jobs wait" in said
    assert "send_parcel" not in said
    assert "count_stock" not in said


def test_a_folder_without_cdk_json_is_no_project(tmp_path: Path) -> None:
    with pytest.raises(InvalidOptionError, match="--root"):
        LocalAws(tmp_path)


def test_a_process_that_got_the_same_number_later_is_not_taken_for_it_and_not_stopped(aws: LocalAws) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        aws.folder.mkdir(parents=True)
        (aws.folder / "instance.json").write_text(json.dumps({"pid": stranger.pid, "port": 4799}))

        assert aws.running() is None
        assert aws.down() is False
        assert stranger.poll() is None
        assert not aws.folder.exists()
        stranger.kill()


@pytest.mark.parametrize("record", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1}'])
def test_a_record_that_cannot_be_read_is_no_instance(aws: LocalAws, record: str) -> None:
    aws.folder.mkdir(parents=True)
    (aws.folder / "instance.json").write_text(record)

    assert aws.running() is None
    assert aws.down() is False


def test_what_talks_to_it_can_talk_to_nothing_else(aws: LocalAws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")

    environment = running().environment

    assert "AWS_PROFILE" not in environment
    assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4799"
    assert (environment["AWS_ACCESS_KEY_ID"], environment["AWS_SECRET_ACCESS_KEY"]) == ("key", "secret")
    assert environment["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull


def test_a_second_deployment_of_the_same_files_does_nothing(aws: LocalAws, cdk: list[str]) -> None:
    assert deploy(aws) is True
    assert deploy(aws) is False
    assert cdk == ["bootstrap", "deploy"]


def test_a_changed_file_is_deployed_without_preparing_again(aws: LocalAws, cdk: list[str]) -> None:
    deploy(aws)
    (aws.root / "functions" / "handler.py").write_text("2")

    assert deploy(aws) is True
    assert cdk == ["bootstrap", "deploy", "deploy"]


def test_what_compilers_leave_behind_is_no_change(aws: LocalAws, cdk: list[str]) -> None:
    deploy(aws)
    (aws.root / "functions" / "__pycache__").mkdir()
    (aws.root / "functions" / "__pycache__" / "handler.pyc").write_text("")

    assert deploy(aws) is False


def test_a_local_aws_that_was_started_anew_is_empty_and_gets_everything(aws: LocalAws, cdk: list[str]) -> None:
    deploy(aws)

    assert deploy(aws, pid=2) is True
    assert cdk == ["bootstrap", "deploy"] * 2


def test_a_deployment_that_failed_is_not_taken_for_done(
    aws: LocalAws, cdk: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy(aws)
    (aws.root / "functions" / "handler.py").write_text("2")

    def fail(*_: object, **__: object) -> None:
        raise DeploymentError("no")

    with monkeypatch.context() as broken:
        broken.setattr(deployment, "run_cdk", fail)
        with pytest.raises(DeploymentError):
            deploy(aws)

    assert deploy(aws) is True
