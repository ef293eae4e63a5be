"""A job type is a folder: adding one is all it takes, and a bad one fails synth with what to do about it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk.assertions import Match, Template

from app import ROOT, build
from infra.gates import add_gates
from leasehold.cdk import JobQueue
from leasehold.cdk.handlers import folders_of
from leasehold.cdk.layers import handler_code
from leasehold.job_folders.toml import InvalidJobFolderError
from leasehold.kernel.errors import LeaseholdError
from tests.infra.synthesised import CONTEXT, WITHOUT_BUNDLING

if TYPE_CHECKING:
    from pathlib import Path

JOB_TOML = """
concurrency = 3
timeout = "90s"
memory = 1024
max_event_age = "2m"
reserved_concurrency = 3
log_retention_days = 7

[environment]
BUCKET = "reports"

[[permissions]]
actions = ["s3:PutObject"]
resources = ["arn:${AWS::Partition}:s3:::reports-${AWS::AccountId}/daily/*"]
reason = "a report is named after its day, which is not known at deployment"
"""


def project(root: Path, **job_tomls: str) -> Path:
    """A project with one of our own job types, and with those that the test adds."""
    folders = root / "functions" / "jobs"
    shutil.copytree(ROOT / "functions" / "jobs" / "user_sync", folders / "user_sync")
    for name, text in job_tomls.items():
        shutil.copytree(ROOT / "functions" / "jobs" / "user_sync", folders / name)
        (folders / name / "job.toml").write_text(text)
    return root


def app_for(outdir: Path) -> App:
    return App(context={**CONTEXT, **WITHOUT_BUNDLING, "environment_name": "dev"}, outdir=str(outdir))


def synthesise(root: Path, outdir: Path) -> dict[str, Any]:
    app = build(app_for(outdir), root=root)
    add_gates(app)
    app.synth()
    made: dict[str, Any] = json.loads((outdir / "leasehold-dev-queue.template.json").read_text())
    return made


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return synthesise(project(tmp_path_factory.mktemp("without")), tmp_path_factory.mktemp("out"))


@pytest.fixture(scope="module")
def with_report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The same project with one more folder. Its wildcard passes the gates by the reason that job.toml gives."""
    return synthesise(project(tmp_path_factory.mktemp("with"), report=JOB_TOML), tmp_path_factory.mktemp("out"))


@pytest.fixture(scope="module")
def template(with_report: dict[str, Any]) -> Template:
    return Template.from_json(with_report)


def test_a_folder_brings_a_function_with_role_logs_and_alarms(
    without: dict[str, Any], with_report: dict[str, Any]
) -> None:
    added = with_report["Resources"].keys() - without["Resources"].keys()

    kinds = sorted(with_report["Resources"][name]["Type"] for name in added)
    assert kinds == sorted(
        [
            *("AWS::IAM::Policy", "AWS::IAM::Role", "AWS::Lambda::EventInvokeConfig"),
            *("AWS::Lambda::Function", "AWS::Logs::LogGroup"),
            *["AWS::CloudWatch::Alarm"] * 4,
        ]
    )
    assert without["Resources"].keys() < with_report["Resources"].keys(), "the other types are left as they were"


def test_its_function_is_what_the_folder_says(template: Template) -> None:
    template.has_resource_properties(
        "AWS::Lambda::Function",
        {
            "Timeout": 100,  # and 10 s to start and to write its end
            "MemorySize": 1024,
            "ReservedConcurrentExecutions": 3,
            "Environment": {"Variables": Match.object_like({"BUCKET": "reports", "LEASEHOLD_FUNCTION": "job-report"})},
        },
    )
    template.has_resource_properties(
        "AWS::Lambda::EventInvokeConfig",
        {
            "FunctionName": {"Ref": Match.string_like_regexp("Jobreport")},
            "MaximumEventAgeInSeconds": 120,
            "MaximumRetryAttempts": 0,
        },
    )
    assert retention_of(template, "Jobreport") == 7


def test_a_type_that_says_nothing_of_its_logs_keeps_them_as_long_as_the_stage_does(template: Template) -> None:
    assert retention_of(template, "Jobusersync") == 30


def retention_of(template: Template, function: str) -> int:
    groups = template.find_resources("AWS::Logs::LogGroup")
    (found,) = (each["Properties"]["RetentionInDays"] for name, each in groups.items() if function in name)
    return int(found)


def test_its_role_may_do_what_the_folder_asks_for(template: Template) -> None:
    own = {
        "Sid": "Own0",
        "Effect": "Allow",
        "Action": "s3:PutObject",
        "Resource": {
            "Fn::Join": [
                "",
                ["arn:", {"Ref": "AWS::Partition"}, ":s3:::reports-", {"Ref": "AWS::AccountId"}, "/daily/*"],
            ]
        },
    }
    template.has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {"Statement": Match.array_with([own])},
            "Roles": [{"Ref": Match.string_like_regexp("Jobreport")}],
        },
    )


def test_the_poller_may_invoke_it(template: Template) -> None:
    hand_over = {
        "Sid": "HandOver",
        "Resource": Match.array_with([{"Fn::GetAtt": [Match.string_like_regexp("Jobreport"), "Arn"]}]),
    }
    template.has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {"Statement": Match.array_with([Match.object_like(hand_over)])},
            "Roles": [{"Ref": Match.string_like_regexp("Poller")}],
        },
    )


def test_the_dashboard_and_the_registry_know_it(with_report: dict[str, Any], without: dict[str, Any]) -> None:
    for kind in ("AWS::CloudWatch::Dashboard", "Custom::LeaseholdRegistry"):
        before, after = (
            json.dumps([each for each in made["Resources"].values() if each["Type"] == kind])
            for made in (without, with_report)
        )
        assert "report" not in before.replace("reporter", "").replace("reported", "")
        assert "report" in after.replace("reporter", "").replace("reported", "")


def test_a_bad_job_toml_fails_synth_with_file_key_value_and_fix(tmp_path: Path) -> None:
    root = project(tmp_path / "project", report='timeout = "20m"\nmemmory = 512\n')

    with pytest.raises(InvalidJobFolderError) as failed:
        build(app_for(tmp_path / "out"), root=root)

    told = str(failed.value)
    assert "functions/jobs/report/job.toml" in told
    assert "timeout = '20m'" in told or 'timeout = "20m"' in told
    assert "900" in told or "15" in told
    assert "memmory" in told
    assert "memory" in told.replace("memmory", "")


def test_a_program_that_a_mistake_in_a_job_folder_ends_says_the_reason_and_shows_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_such_version(command: list[str], **_: object) -> None:
        raise subprocess.CalledProcessError(1, command, stderr="there is no version of nonsense==99\n")

    monkeypatch.setattr("leasehold.cdk.layers.subprocess.run", no_such_version)
    monkeypatch.setenv("LEASEHOLD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    folder = project(tmp_path / "good", report="") / "functions/jobs/report"
    bad = project(tmp_path / "bad", report="concurrency = 1\nmemmory = 512") / "functions/jobs"
    stack = Stack(App(outdir=str(tmp_path)), "stack")
    platform: Any = {"runtime": lambda_.Runtime.PYTHON_3_13, "architecture": lambda_.Architecture.ARM_64}
    for wrong, reason in (
        (
            lambda: folders_of(bad, [], {}),
            "jobs/report/job.toml: memmory = 512: job.toml has no such key. Did you mean memory?\n",
        ),
        (
            lambda: handler_code(stack, folder, ("nonsense==99",), **platform),
            "report/job.toml: the requirements cannot be installed, as uv says:\nthere is no version of nonsense==99\n",
        ),
    ):
        with pytest.raises(LeaseholdError) as ended:
            wrong()
        sys.excepthook(ended.type, ended.value, ended.tb)
        assert capsys.readouterr().err == reason
    sys.excepthook(KeyError, KeyError("of the app's own"), None)
    assert "KeyError: " in capsys.readouterr().err


def test_extra_requirements_are_installed_beside_the_whole_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Subfolders too; nothing is installed that is not listed with its hash; and nothing is installed twice."""
    ran: list[tuple[list[str], str]] = []
    monkeypatch.setattr(
        "leasehold.cdk.layers.subprocess.run", lambda command, *, input, **_: ran.append((command, input))
    )
    monkeypatch.setenv("LEASEHOLD_CACHE", str(tmp_path / "cache"))
    requirement = f"httpx==0.28.1 --hash=sha256:{'0' * 64}"
    root = project(tmp_path / "project", report=f'requirements = ["{requirement}"]')
    folder = root / "functions" / "jobs" / "report"
    (folder / "letters").mkdir()
    (folder / "letters" / "welcome.txt").write_text("Welcome!")

    def synthesise_it(outdir: Path) -> lambda_.Code:
        stack = Stack(App(outdir=str(outdir)), "stack")
        return handler_code(
            stack,
            folder,
            (requirement,),
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64,
        )

    synthesise_it(tmp_path / "first")
    synthesise_it(tmp_path / "second")

    (made,) = (tmp_path / "cache" / "packages").iterdir()
    assert sorted(str(path.relative_to(made)) for path in made.rglob("*.*")) == ["handler.py", "letters/welcome.txt"]
    ((command, requirements),) = ran
    assert requirements == f"{requirement}\n"
    assert command[command.index("--python-platform") + 1] == "aarch64-manylinux2014"
    assert command[command.index("--python-version") + 1] == "3.13"
    assert {"--require-hashes", "--no-deps"} <= set(command)


def test_a_template_in_a_test_builds_nothing_and_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As users write them: `Template.from_stack`, without a folder for the output and without the CDK's context."""
    monkeypatch.setenv("LEASEHOLD_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CDK_OUTDIR", raising=False)
    monkeypatch.setattr("leasehold.cdk.layers.subprocess.run", lambda *_, **__: pytest.fail("something was built"))
    looked_at = JobQueue(Stack(App(), "stack"), "Jobs", entry=project(tmp_path / "project") / "functions" / "jobs")
    template = dict(Template.from_stack(Stack.of(looked_at)).to_json())

    assert not (tmp_path / "cache").exists()
    layers = [each for each in template["Resources"].values() if each["Type"] == "AWS::Lambda::LayerVersion"]
    assert len(layers) == 2
