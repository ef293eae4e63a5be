"""What others install: wheel and sdist hold all that a deployment needs, and work in an environment of their own."""

from __future__ import annotations

import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.package.built import ROOT, Built, build, environment, python_3_12, run

if TYPE_CHECKING:
    from email.message import Message

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("package")]

LIBRARY = ROOT / "layers" / "leasehold" / "python"
# Imports everything that a user can, and runs a job in memory.
FIRST_JOB = """
import importlib, pkgutil, sys
import leasehold
import leasehold.cdk
from leasehold.testing import LeaseholdTest
from pydantic import BaseModel

for module in pkgutil.walk_packages(leasehold.__path__, "leasehold."):
    # It runs in the environment of the local AWS, not in the user's; and a main module would start.
    if not module.name.startswith("leasehold.local.ministack"):
        importlib.import_module(module.name)


class Greeting(BaseModel):
    name: str


class Greet(leasehold.BaseJobHandler[Greeting]):
    def handle(self, payload: Greeting) -> str:
        return f"hello {payload.name}"


class Untyped(leasehold.BaseJobHandler):
    @classmethod
    def payload_model(cls):
        return Greeting

    def handle(self, payload):
        return f"hello {payload.name}"


test = LeaseholdTest({"greet": Greet, "untyped": Untyped})
jobs = [test.queue.enqueue(name, {"name": "ada"}).job_id for name in ("greet", "untyped")]
assert test.drain()["completed"] == 2
assert [test.queue.get(job_id).result for job_id in jobs] == ["hello ada"] * 2

# What a deployment does: on Python 3.12 the registry's function failed here.
from leasehold.operate.registration import publish
from leasehold.schedules.verbs import deploy

publish(leasehold.Registry(types={"greet": leasehold.JobType(name="greet")}), test.queue.services)
deploy([], test.queue.services)
assert list(test.queue.schedules.list()) == []
print(leasehold.__file__)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("dist"))


def files_of_the_library() -> set[str]:
    found = (path for path in LIBRARY.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(LIBRARY).as_posix() for path in found}


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def test_the_wheel_holds_the_whole_library_and_nothing_else(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        files = {name for name in archive.namelist() if ".dist-info/" not in name}

    assert files == files_of_the_library()
    assert files >= {
        "leasehold/py.typed",
        "leasehold/cdk/job_queue.py",
        "leasehold/cdk/requirements.txt",
        "leasehold/console/static/index.html",
        "leasehold/functions/poller.py",
        "leasehold/verify/jobs/leasehold_probe/handler.py",
        "leasehold/verify/jobs/leasehold_probe/job.toml",
    }


def test_the_sdist_holds_what_the_wheel_is_made_from(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        files = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}

    library = {f"layers/leasehold/python/{name}" for name in files_of_the_library()}
    about = {"CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml"}
    assert files - {".gitignore", "PKG-INFO"} == library | about


def test_its_metadata_says_what_it_needs_and_what_each_extra_brings(built: Built) -> None:
    told = metadata_of(built.wheel)
    needs = told.get_all("Requires-Dist", [])

    assert (told["Name"], told["Requires-Python"], told["License-Expression"]) == ("leasehold", ">=3.12", "MIT")
    assert set(told.get_all("Provides-Extra", [])) == {"cdk", "cli"}
    assert {each.partition("<")[0].partition(">")[0] for each in needs if "extra" not in each} == {
        "aws-lambda-powertools",
        "boto3",
        "cronsim",
        "pydantic",
        "sentry-sdk",
        "typing-extensions",
    }
    assert {each.partition("<")[0].partition(">")[0] for each in needs if "extra == 'cdk'" in each} == {
        "aws-cdk-lib",
        "constructs",
        "uv",
    }


@pytest.mark.parametrize("version", [pytest.param("3.12", marks=pytest.mark.deep), "3.13"])
def test_installed_alone_everything_can_be_imported_and_a_job_runs(built: Built, tmp_path: Path, version: str) -> None:
    python = python_3_12() if version == "3.12" else Path(ROOT / ".venv/bin/python")
    if python is None:
        pytest.skip("there is no Python 3.12 on this machine")
    # pytest is for the plugin, which is a module of the library.
    installed = environment(tmp_path / "venv", python, f"leasehold[cdk,cli] @ {built.wheel.as_uri()}", "pytest")

    assert str(tmp_path) in run(installed, "-c", FIRST_JOB, cwd=tmp_path)
    assert "leasehold" in run(tmp_path / "venv/bin/leasehold", "--help", cwd=tmp_path)
