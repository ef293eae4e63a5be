"""Every fenced block of every page is run, or held against what it shows: one that no checker knows fails here."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from datetime import timedelta
from functools import cache, partial
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from aws_cdk import App, Duration, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_ssm as ssm
from pydantic import BaseModel
from typer.main import get_command

from leasehold import BaseJobHandler, JobContext, JobStatus, JobType, Within
from leasehold import features as all_features
from leasehold.aws.names import discovery_parameter
from leasehold.batches.model import Batch
from leasehold.cdk import Access, ApiOptions, Handler, JobQueue
from leasehold.cli.commands import app
from leasehold.cli.new import write_project
from leasehold.job_folders.folder import load_job_folder
from leasehold.kernel.end import Ending
from leasehold.kernel.hooks import Feature, Hooks
from leasehold.kernel.services import Services
from leasehold.telemetry import Metric, Unit
from leasehold.testing import LeaseholdTest
from tests.docs import test_guides
from tests.docs.markdown import PAGES, ROOT, Block, blocks_of, code_blocks, text_of
from tests.infra.synthesised import CONTEXT, WITHOUT_BUNDLING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BLOCKS = [block for page in PAGES for block in blocks_of(page)]
# Pages whose Python is run by a test that says what comes of it.
RUN_BY_A_TEST = {
    "README.md": "test_readme",
    "docs/guide.md": "test_guide",
    "docs/limits.md": "test_limits_page",
    "docs/webhooks.md": "test_webhooks_page",
    **{f"docs/{name}.md": "test_guides" for name in test_guides.GUIDES},
    **dict.fromkeys(("docs/architecture.md", "docs/batches.md", "docs/job-toml.md"), "test_code_blocks"),
}
# Made from the code, and compared with it, by these.
GENERATED = {("docs/sdk.md", "pycon"): "test_sdk_page", ("docs/state-machine.md", "mermaid"): "test_state_machine"}
PICTURES = {"docs/architecture.md": "test_architecture_page"}


class Document(BaseModel):
    text: str


def test_no_fence_is_overlooked() -> None:
    fences = sum(len(re.findall(r"^\s*(?:```|~~~)", text_of(page), re.MULTILINE)) for page in PAGES)

    assert fences == 2 * len(BLOCKS)
    assert len(BLOCKS) > 100


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_every_block_runs_or_is_what_it_says(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    CHECKERS[block.language](block)


def check_python(block: Block) -> None:
    if block.page in RUN_BY_A_TEST:
        assert (Path(__file__).parent / f"{RUN_BY_A_TEST[block.page]}.py").exists()
        return
    # The port may be taken, and the CDK's own process is in another folder.
    code = block.code.replace("port=8080", "port=0").replace('"render")', f"{str(Path.cwd())!r})")
    exec(code, taken_for_granted(without_code=["render"] if "handlers={" in code else []))


def taken_for_granted(without_code: Sequence[str]) -> dict[str, Any]:
    """What a page's examples speak of without defining it: a queue, a stack with a function, and a folder of jobs."""
    for name in ("send_invoice", *without_code):
        Path("jobs", name).mkdir(parents=True)
        Path("jobs", name, "job.toml").write_text("concurrency = 1")
    Path("jobs/send_invoice/handler.py").write_text("")
    stack = Stack(App(context={**CONTEXT, **WITHOUT_BUNDLING}), "Shop")
    code = lambda_.Code.from_inline("def handler(event, context): ...")
    api = lambda_.Function(stack, "Web", runtime=lambda_.Runtime.PYTHON_3_13, handler="index.handler", code=code)
    layer = f"arn:aws:lambda:us-east-1:{1:012}:layer:adot:1"
    return {
        **{"queue": LeaseholdTest().queue, "self": stack, "stack": stack, "api_function": api, "lambda_": lambda_},
        **{"JobQueue": JobQueue, "Handler": Handler, "ApiOptions": ApiOptions, "Access": Access},
        **{"Duration": Duration, "ADOT_LAYER_ARN": layer},
    }


def check_toml(block: Block) -> None:
    """As the job.toml of a type, or a part of one."""
    folder = Path("jobs", "example")
    folder.mkdir(parents=True)
    (folder / "handler.py").write_text("")
    (folder / "job.toml").write_text(block.code if "concurrency" in block.code else "concurrency = 1\n" + block.code)

    assert load_job_folder(Path.cwd(), "example", PurePosixPath("jobs")).name == "example"


def check_json(block: Block) -> None:
    """Which the page's own test compares with what is sent."""
    assert json.loads(block.code)
    assert block.page == "docs/webhooks.md"


def check_generated(block: Block) -> None:
    assert (Path(__file__).parent / f"{GENERATED[block.page, block.language]}.py").exists()


def check_typescript(block: Block) -> None:
    """The CDK's method exists under its Python name, the parameter is the queue's, and has the fields it says."""
    method, parameter, fields = re.findall(r'StringParameter\.(\w+)\(this, "([^"]+)"\);\s+// JSON: (.*)', block.code)[0]
    stack = Stack(App(context={**CONTEXT, **WITHOUT_BUNDLING}), "Shop")
    JobQueue(stack, "Jobs", queue_name="my-jobs")
    (kept,) = [each for each in stack.node.find_all() if isinstance(each, ssm.StringParameter)]

    assert hasattr(ssm.StringParameter, re.sub(r"([A-Z])", r"_\1", method).lower())
    assert parameter == discovery_parameter("my-jobs")
    resource: Any = kept.node.default_child
    stored = json.dumps(stack.resolve(resource.value))
    assert set(fields.split(", ")) == set(re.findall(r'\\"(\w+)\\":', stored))


def check_shell(block: Block) -> None:
    if block.page in PICTURES:
        return
    if block.code.startswith("my-jobs/\n"):
        check_project_tree(block)
        return
    # What is piped and assigned is bash's; we see the calls that come of it.
    programs = "".join(f"{name}() {{ printf '%q ' {name} \"$@\"; echo; }}\n" for name in SHELL)
    python = f'python() {{ {shlex.quote(sys.executable)} "$@"; }}\n'
    code = block.code.replace("node_modules/.bin/cdk", "cdk")
    made = subprocess.run(["bash", "-euc", programs + python + code], check=True, capture_output=True, text=True)
    calls = [shlex.split(line) for line in made.stdout.splitlines()]

    assert len(calls) >= len([line for line in code.splitlines() if line and not line.startswith("key=")])
    for program, *arguments in calls:
        SHELL[program](arguments)


def check_project_tree(block: Block) -> None:
    write_project("my-jobs", Path.cwd())
    folders = {0: Path()}
    for line in block.code.splitlines():
        depth, name = len(line) - len(line.lstrip()), line.split()[0]
        folders[depth + 2] = folders[depth] / name
        assert folders[depth + 2].exists(), name


def check_leasehold(arguments: Sequence[str]) -> None:
    """As far as the real command line takes it before it does anything."""
    command, name, context = commands(), "leasehold", None
    rest = list(arguments)
    while hasattr(command, "resolve_command"):
        context = command.make_context(name, rest, parent=context, allow_interspersed_args=False)
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
    command.make_context(name, rest, parent=context)


@cache
def commands() -> Any:
    return get_command(app)


def check_make(arguments: Sequence[str]) -> None:
    subprocess.run(["make", "--dry-run", *arguments], cwd=ROOT, check=True, capture_output=True)


def check_pip(arguments: Sequence[str]) -> None:
    extras = tomllib.loads(text_of("pyproject.toml"))["project"]["optional-dependencies"]
    (package,) = [each for each in arguments[1:] if not each.startswith("-")]
    name, _, chosen = package.rstrip("]").partition("[")

    assert (arguments[0], name) == ("install", "leasehold")
    assert set(filter(None, chosen.split(","))) <= set(extras)


def check_cdk(arguments: Sequence[str]) -> None:
    helped = cdk_help(arguments[0])

    assert f"cdk {arguments[0]}" in helped
    for option in (each.partition("=")[0] for each in arguments if each.startswith("--")):
        assert re.search(rf"{option}\b", helped), option


@cache
def cdk_help(command: str) -> str:
    program = ROOT / "node_modules/.bin/cdk"
    return subprocess.run([program, command, "--help"], check=True, capture_output=True, text=True).stdout


def check_aws(arguments: Sequence[str]) -> None:
    """Operation and options are those of the service's own model."""
    service, operation, *options = arguments
    client: Any = boto3.client(service)  # type: ignore[call-overload]
    name = "".join(part.title() for part in operation.split("-"))
    shape = client.meta.service_model.operation_model(name).input_shape
    given = {"".join(part.title() for part in each[2:].split("-")) for each in options if each.startswith("--")}

    assert given <= set(shape.members)
    assert given >= set(shape.required_members)


SHELL: dict[str, Callable[[Sequence[str]], None]] = {
    "leasehold": check_leasehold,
    "make": check_make,
    "pip": check_pip,
    "cdk": check_cdk,
    "npx": lambda arguments: SHELL[arguments[0]](arguments[1:]),
    "aws": check_aws,
    # Into the project that was just made, whose package.json and tests tests/package runs.
    **{name: lambda arguments: None for name in ("cd", "npm", "pytest")},
}
CHECKERS: dict[str, Callable[[Block], None]] = {
    "python": check_python,
    "toml": check_toml,
    "json": check_json,
    "typescript": check_typescript,
    **dict.fromkeys(("pycon", "mermaid"), check_generated),
    **dict.fromkeys(("", "sh", "bash"), check_shell),
}


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("", "leasehold jobs --stauts failed"),
        ("", "leasehold jbos"),
        ("", "make demoo"),
        ("", 'pip install "leasehold[cd]"'),
        ("", "npx cdk deploy --everything"),
        ("", "aws ssm put-parameter --naem x --value y"),
        ("", "rm -r my-jobs"),
        ("python", "JobQueue(stack, 'Jobs', entri='jobs')"),
        ("toml", "concurrency = 1\ntimeuot = 3"),
        ("json", "{"),
    ],
)
def test_a_block_that_is_wrong_is_noticed(
    language: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(Exception):  # noqa: B017, PT011 - each checker has its own
        CHECKERS[language](Block("docs/cdk.md", 1, language, f"{code}\n"))


def test_the_batch_handler_of_its_page_ends_each_job_by_itself() -> None:
    (code,) = code_blocks("docs/batches.md", "python")
    search = SimpleNamespace(bulk=lambda texts: [SimpleNamespace(ok=each == "a", reason="too long") for each in texts])
    names: dict[str, Any] = {"BaseJobHandler": BaseJobHandler, "Document": Document, "search": search}
    exec(code, names)
    test = LeaseholdTest(types=[JobType(name="index", batch=Batch(size=2))])
    test.register("index", names["IndexDocuments"])
    jobs = [test.queue.enqueue("index", {"text": each}).job_id for each in ("a", "b")]

    test.drain()

    assert [test.queue.get(each).status for each in jobs] == [JobStatus.COMPLETED, JobStatus.FAILED]


def test_a_handler_that_enqueues_as_its_page_says_makes_the_other_job_once() -> None:
    (code,) = code_blocks("docs/job-toml.md", "python")
    test = LeaseholdTest()

    class Twice(BaseJobHandler[Document]):
        def handle(self, payload: Document, context: JobContext) -> None:
            names = {"context": context, "payload": payload.model_dump(), "Within": Within, "timedelta": timedelta}
            for _ in range(2):
                exec(code, names)

    test.register("order", Twice)
    test.register("send_receipt", None)
    test.queue.enqueue("order", {"text": "a"})
    test.drain()

    assert [job.payload for job in test.jobs() if job.job_type == "send_receipt"] == [{"text": "a"}]


def test_the_feature_of_the_architecture_counts_failed_ends() -> None:
    (code,) = code_blocks("docs/architecture.md", "python")
    metric = Metric("failed_ends_total", Unit.COUNT, ("job_type",))
    names = {
        **{"Hooks": Hooks, "Ending": Ending, "Services": Services, "Feature": Feature, "partial": partial},
        **{"FAILED_ENDS": metric, "_load": all_features._load},
    }
    exec(code, names)
    test = LeaseholdTest()
    end = SimpleNamespace(failed=True, job=SimpleNamespace(job_type="report"))

    names["CountHooks"]().after(end, test.services)  # type: ignore[operator]

    assert [(found, value) for found, value, _ in test.telemetry.metrics] == [(metric, 1)]
