"""Job types in the user's own code: functions of the app as handlers, shared code, packages of the project."""

from __future__ import annotations

import json
import re
import zipfile
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from aws_cdk import App, Duration, Stack
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_lambda as lambda_
from aws_cdk.assertions import Template

from leasehold.aws.names import BESIDE
from leasehold.cdk import Handler, JobQueue
from leasehold.cdk.layers import handler_code
from tests.infra.synthesised import CONTEXT, WITHOUT_BUNDLING

ARCHITECTURE, RUNTIME = lambda_.Architecture.ARM_64, lambda_.Runtime.PYTHON_3_13
HANDLER = """
from leasehold import BaseJobHandler
class Order(BaseJobHandler):
    def handle(self, payload, context):
        context.enqueue("render", {})
"""
ORDER = """
concurrency = 1
enqueues = ["render", "print"]
deduplicates = ["render"]
[environment]
BUCKET = "pages-${environment_name}-${AWS::Region}"
[environment.shop]
LEVEL = "careful"
"""


def project(**job_tomls: str) -> Path:
    """A folder of job types; only `order` has a handler.py of its own."""
    jobs = Path(mkdtemp(prefix="leasehold-own-")) / "jobs"
    for name, text in job_tomls.items():
        (jobs / name).mkdir(parents=True)
        (jobs / name / "job.toml").write_text(text)
        if name == "order":
            (jobs / name / "handler.py").write_text(HANDLER)
    return jobs


def stack_named(name: str = "Shop") -> Stack:
    return Stack(App(context={**CONTEXT, **WITHOUT_BUNDLING}), name)


def function_in(stack: Stack, name: str = "Render", **props: Any) -> lambda_.Function:
    code = lambda_.Code.from_inline("from leasehold.runtime.entry import entry")
    settings = {"runtime": RUNTIME, "architecture": ARCHITECTURE, "timeout": Duration.seconds(70), **props}
    return lambda_.Function(stack, name, handler="index.handler", code=code, **settings)


@cache
def shop() -> Template:
    stack = stack_named()
    printer = lambda_.DockerImageFunction(
        stack,
        "Print",
        code=lambda_.DockerImageCode.from_ecr(ecr.Repository.from_repository_name(stack, "Images", "images")),
        timeout=Duration.seconds(70),
    )
    JobQueue(
        stack,
        "Jobs",
        entry=project(order=ORDER, render="concurrency = 2", print='concurrency = "unlimited"'),
        environment_name="shop",
        handlers={"render": Handler.from_function(function_in(stack)), "print": Handler.from_function(printer)},
    )
    return Template.from_stack(stack)


def resource(kind: str, prefix: str) -> dict[str, Any]:
    found = [each for name, each in shop().find_resources(kind).items() if name.startswith(prefix)]
    assert len(found) == 1
    return dict(found[0]["Properties"])


def sids_of(prefix: str) -> list[str]:
    return [each["Sid"] for each in resource("AWS::IAM::Policy", prefix)["PolicyDocument"]["Statement"]]


def test_a_function_of_the_app_gets_layers_variables_rights_and_asynchronous_settings() -> None:
    function = resource("AWS::Lambda::Function", "Render")
    events = resource("AWS::Lambda::EventInvokeConfig", "Render")

    assert len(function["Layers"]) == 2
    assert function["RecursiveLoop"] == "Allow"
    assert function["Environment"]["Variables"]["LEASEHOLD_FUNCTION"] == "job-render"
    assert "LEASEHOLD_JOBS_TABLE" in function["Environment"]["Variables"]
    assert "LEASEHOLD_HANDLER" not in function["Environment"]["Variables"], "its handler is its own"
    assert events["MaximumRetryAttempts"] == 0
    assert {"EndJobs", "FreeSeats", "WakePoller"} <= set(sids_of("JobsJobrenderRights"))
    assert resource("AWS::IAM::Policy", "JobsJobrenderRights")["Roles"] == [{"Ref": "RenderServiceRole79C6253E"}]


def test_it_is_handed_jobs_and_published_with_alarms_as_every_other() -> None:
    hand_over = json.dumps(resource("AWS::IAM::Policy", "JobsPollerLambdaPolicy"))
    assert '"Fn::GetAtt": ["Render' in hand_over
    (registry,) = shop().find_resources("Custom::LeaseholdRegistry").values()
    assert '"Ref": "Render' in json.dumps(registry["Properties"]["Registry"])
    assert any(name.startswith("JobsAlarmsErrorsrender") for name in shop().find_resources("AWS::CloudWatch::Alarm"))


def test_a_container_image_gets_all_of_that_but_layers() -> None:
    function = resource("AWS::Lambda::Function", "Print")

    assert function["PackageType"] == "Image"
    assert "Layers" not in function
    assert function["Environment"]["Variables"]["LEASEHOLD_FUNCTION"] == "job-print"
    assert "EndJobs" in sids_of("JobsJobprintRights")


def test_a_handler_may_enqueue_the_types_that_its_job_toml_names_and_no_others() -> None:
    policy = resource("AWS::IAM::Policy", "JobsJoborderLambdaPolicy")
    statements = {each["Sid"]: each for each in policy["PolicyDocument"]["Statement"]}
    keys = json.dumps(statements["Enqueue"]["Condition"])

    assert statements["Enqueue"]["Action"] == "dynamodb:PartiQLInsert"
    assert keys.count('"job#') == 2
    assert json.dumps(statements["ReplaceJobs"]["Condition"]).count('"job#') == 1, "dedup keys of one type only"
    assert len(statements) == len(policy["PolicyDocument"]["Statement"]), "ids of statements are unique per policy"
    assert "Enqueue" not in sids_of("JobsJobrenderRights")


def test_values_of_the_deployment_are_filled_in() -> None:
    told = resource("AWS::Lambda::Function", "JobsJoborder")["Environment"]["Variables"]

    assert told["LEVEL"] == "careful"
    assert told["BUCKET"] == {"Fn::Join": ["", ["pages-shop-", {"Ref": "AWS::Region"}]]}


def refusal(stack: Stack, function: lambda_.IFunction, job_toml: str = "concurrency = 1", **props: Any) -> str:
    handlers = {"render": Handler.from_function(function)}
    with pytest.raises(ValueError, match="this function cannot be its handler") as refused:
        JobQueue(stack, "Jobs", entry=project(render=job_toml), handlers=handlers, **props)
    return str(refused.value)


def test_an_imported_function_fails_synthesis_with_the_fix() -> None:
    stack = stack_named()
    imported = lambda_.Function.from_function_name(stack, "Theirs", "theirs")

    assert "it is imported" in refusal(stack, imported)
    assert "Pass the lambda_.Function itself" in refusal(stack_named(), function_in(stack).current_version)


def test_a_function_of_another_stack_would_be_a_circular_reference() -> None:
    app = App(context={**CONTEXT, **WITHOUT_BUNDLING})
    stack, function = Stack(app, "Shop"), function_in(Stack(app, "Functions"))

    said = refusal(stack, function)
    assert "it is in the stack Functions, and the queue in Shop: each would need something of the other" in said
    assert "Define the function in the queue's stack" in said


@pytest.mark.parametrize(
    ("props", "job_toml", "problem"),
    [
        ({"timeout": None}, "concurrency = 1", "its timeout is 3 s, and a job of this type takes up to 70 s"),
        ({"timeout": Duration.seconds(20)}, 'concurrency = 1\ntimeout = "11s"', r"Duration.seconds\(21\)"),
        ({"runtime": lambda_.Runtime.PYTHON_3_12}, "concurrency = 1", "its runtime is python3.12, and .* python3.13"),
        ({"architecture": lambda_.Architecture.X86_64}, "concurrency = 1", "its architecture is x86_64"),
        ({"retry_attempts": 1}, "concurrency = 1", "it has asynchronous settings already"),
        ({}, "concurrency = 1\nmemory = 512", "its job.toml sets memory, which is the function's own. Set it there"),
    ],
)
def test_a_function_that_cannot_do_the_jobs_fails_synthesis_with_the_fix(
    props: dict[str, Any], job_toml: str, problem: str
) -> None:
    stack = stack_named()

    assert re.search(problem, refusal(stack, function_in(stack, **props), job_toml))


def test_a_handler_of_a_type_that_is_not_there_names_the_folder_to_add() -> None:
    stack = stack_named()
    handlers = {"paint": Handler.from_function(function_in(stack))}
    with pytest.raises(ValueError, match=r"handlers, paint: there is no such job type\. Add the folder .*jobs/paint"):
        JobQueue(stack, "Jobs", entry=project(order="concurrency = 1"), handlers=handlers)


def test_a_type_that_enqueues_one_that_is_not_deployed_fails_synthesis() -> None:
    entry = project(order='concurrency = 1\nenqueues = ["ship"]')
    with pytest.raises(ValueError, match=r"order/job.toml: enqueues: there is no job type 'ship'. Deployed are: order"):
        JobQueue(stack_named(), "Jobs", entry=entry)


def deployed(folder: Path, out: Path, requirements: tuple[str, ...] = ()) -> lambda_.Code:
    stack = Stack(App(outdir=str(out)), "stack")
    return handler_code(stack, folder, requirements, runtime=RUNTIME, architecture=ARCHITECTURE)


def test_shared_code_and_packages_of_the_project_are_deployed_with_the_handler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Really installed, without the network: a wheel needs no build."""
    monkeypatch.setenv("LEASEHOLD_CACHE", str(tmp_path / "cache"))
    jobs = project(order="concurrency = 1")
    (jobs / "common").mkdir()
    (jobs / "common" / "mail.py").write_text("")
    wheel = jobs.parent / "billing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("billing.py", "")
        made.writestr("billing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: billing\nVersion: 1.0\n")
        made.writestr("billing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        made.writestr("billing-1.0.dist-info/RECORD", "")

    deployed(jobs / "order", tmp_path / "out", (f"../../{wheel.name}",))

    (place,) = (tmp_path / "cache" / "packages").iterdir()
    files = {str(each.relative_to(place)) for each in place.rglob("*.py")}
    assert files == {"handler.py", "billing.py", f"{BESIDE}/common/mail.py"}


def test_a_change_of_shared_code_is_a_new_asset_of_each_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEASEHOLD_CACHE", str(tmp_path / "cache"))
    jobs = project(order="concurrency = 1")
    (jobs / "common").mkdir()
    for text in ("x = 1", "x = 2"):
        (jobs / "common" / "mail.py").write_text(text)
        deployed(jobs / "order", tmp_path / "out")

    assert len(list((tmp_path / "cache" / "packages").iterdir())) == 2


def test_a_path_that_leads_to_no_package_says_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"requirements: '\.\./\.\./billing' leads to .*neither a wheel nor a folder"):
        deployed(project(order="concurrency = 1") / "order", tmp_path / "out", ("../../billing",))
