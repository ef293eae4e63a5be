"""Code for Lambda: Leasehold itself as a layer, third-party packages as another, and handlers with their own packages.

Packages are installed with uv for Lambda's platform, whatever platform this is; no docker. They are kept in a cache of
this user, so that a synthesis installs nothing twice, and `cdk.out` can be removed at any time.
"""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aws_cdk import IgnoreMode, Stack, Stage
from aws_cdk import aws_lambda as lambda_

from leasehold.aws.names import BESIDE
from leasehold.cdk.context import ending_in_its_reason
from leasehold.job_folders.folder import SHARED
from leasehold.job_folders.job_toml import is_local
from leasehold.kernel.errors import DeploymentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constructs import Construct

    from leasehold.cdk.context import QueueContext

LIBRARY = Path(__file__).parent.parent
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
NOT_CODE = ["**/__pycache__/**", "**/__pycache__", "**/*.pyc", "**/job.toml"]
# What only people, their tests and their stacks use stays out of every cold start.
NOT_FOR_LAMBDA = ("cdk", "cli", "console", "local", "testing", "verify")
_PLATFORMS = {"arm64": "aarch64-manylinux2014", "x86_64": "x86_64-manylinux2014"}
_CACHE = "LEASEHOLD_CACHE"
# Of a package in the project: what tools leave there.
_NOT_SOURCE = (".git", ".venv", "build", "dist", ".mypy_cache", ".pytest_cache", ".ruff_cache")


def code_layer(scope: Construct, construct_id: str, *, runtime: lambda_.Runtime) -> lambda_.LayerVersion:
    """The library as it is installed here, in a layer's layout."""
    digest = _digest(_contents(LIBRARY, without=NOT_FOR_LAMBDA))
    is_built = is_deployed_from(scope)
    return lambda_.LayerVersion(
        scope,
        construct_id,
        description="Leasehold itself",
        code=_built(_as_layer(digest), digest) if is_built else _not_built(digest),
        compatible_runtimes=[runtime],
    )


def dependency_layer(
    scope: Construct, construct_id: str, *, runtime: lambda_.Runtime, architecture: lambda_.Architecture
) -> lambda_.LayerVersion:
    """Third-party packages from the hashed requirements that are part of this package."""
    requirements = REQUIREMENTS.read_text()
    return lambda_.LayerVersion(
        scope,
        construct_id,
        description="What Leasehold imports besides boto3, which the runtime brings",
        code=_packages(scope, requirements, runtime=runtime, architecture=architecture),
        compatible_runtimes=[runtime],
        compatible_architectures=[architecture],
    )


def handler_code(
    scope: Construct,
    folder: Path,
    requirements: tuple[str, ...],
    *,
    runtime: lambda_.Runtime,
    architecture: lambda_.Architecture,
) -> lambda_.Code:
    """A handler's folder, with the packages that only this job type needs, and with `common` beside it."""
    shared = folder.parent / SHARED
    is_shared = shared.is_dir() and not (shared / "job.toml").exists()
    if not requirements and not is_shared:
        return lambda_.Code.from_asset(str(folder), exclude=NOT_CODE, ignore_mode=IgnoreMode.GLOB)
    own = [_of_project(folder, each) for each in requirements if is_local(each)]
    return _packages(
        scope,
        "".join(f"{each}\n" for each in requirements if not is_local(each)),
        runtime=runtime,
        architecture=architecture,
        code={".": folder, **({f"{BESIDE}/{SHARED}": shared} if is_shared else {})},
        own=own,
    )


def _of_project(folder: Path, requirement: str) -> Path:
    path = (folder / requirement).resolve()
    is_package = any((path / each).is_file() for each in ("pyproject.toml", "setup.py"))
    if not is_package and not (path.suffix == ".whl" and path.is_file()):
        wrong = ValueError(
            f"{folder.name}/job.toml: requirements: {requirement!r} leads to {path}, which is neither a wheel nor a "
            "folder with a pyproject.toml. Correct the path, which is relative to the job's folder."
        )
        raise ending_in_its_reason(wrong)
    return path


def policy_layer(scope: Construct, construct_id: str, *, queue: QueueContext, policy: str) -> lambda_.LayerVersion:
    """The user's own concurrency policy, `module:function`; its module lies in a folder that is deployed whole."""
    folder = queue.policy_folder
    check_policy(folder, policy)
    digest = _digest(_contents(folder))
    is_built = is_deployed_from(scope)
    return lambda_.LayerVersion(
        scope,
        construct_id,
        description=f"The concurrency policy {policy}",
        code=_built(_below_python(folder, digest), digest) if is_built else _not_built(digest),
        compatible_runtimes=[queue.runtime],
    )


def check_policy(folder: Path, policy: str) -> None:
    """A name that leads nowhere would stop the poller, so it stops the deployment. Nothing is imported here."""
    module, _, function = policy.partition(":")
    path = folder.joinpath(*module.split(".")).with_suffix(".py")
    if not module or not function:
        raise ValueError(f'concurrency_policy = {policy!r}: it is not of the form "module:function".')
    if not path.is_file():
        raise ValueError(f"concurrency_policy = {policy!r}: there is no {path}. Make it, or correct policy_folder.")
    names = {each.name for each in ast.parse(path.read_text()).body if isinstance(each, ast.FunctionDef)}
    if function not in names:
        known = ", ".join(sorted(names)) or "none"
        raise ValueError(f"concurrency_policy = {policy!r}: {path.name} has no function {function}. It has: {known}.")


def _below_python(folder: Path, digest: str) -> Path:
    """A layer's modules are below `python`; the user's folder need not know."""
    place = cache() / "policies" / digest
    if not place.is_dir():
        with _made(place) as made:
            shutil.copytree(folder, made / "python", ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    return place


def _packages(
    scope: Construct,
    requirements: str,
    *,
    runtime: lambda_.Runtime,
    architecture: lambda_.Architecture,
    code: Mapping[str, Path] | None = None,
    own: Sequence[Path] = (),
) -> lambda_.Code:
    """An asset whose hash follows from what goes in: `code` by its place in there, `own` packages of the project."""
    inputs = [requirements, architecture.name, runtime.name]
    for inside, folder in (code or {}).items():
        inputs += [inside, *_contents(folder)]
    for path in own:
        inputs += [path.name, *(_contents(path, without=_NOT_SOURCE) if path.is_dir() else [_file_digest(path)])]
    digest = _digest(inputs)
    if not is_deployed_from(scope):
        return _not_built(digest)
    place = cache() / "packages" / digest
    if not place.is_dir():
        _build(place, requirements, runtime=runtime.name, architecture=architecture.name, code=code or {}, own=own)
    return _built(place, digest)


def _built(place: Path, digest: str) -> lambda_.Code:
    return lambda_.Code.from_asset(str(place), asset_hash=digest)


def _not_built(digest: str) -> lambda_.Code:
    """In the place of what nobody deploys now, under a hash of its own: the CDK keeps an asset that is in cdk.out, so
    after `cdk bootstrap`, which builds nothing, `cdk deploy` would take this for the built one."""
    return lambda_.Code.from_asset(str(Path(__file__).parent), asset_hash=_digest([digest, "not built"]))


def is_deployed_from(scope: Construct) -> bool:
    """Whether somebody can deploy what is synthesised: the CDK's command line, or who names a folder for it.

    The template of a test goes into a temporary folder that nobody looks into: nothing is built for it.
    """
    # The CDK's command line names outermost stacks.
    stack = Stack.of(scope)
    while stack.nested_stack_parent is not None:
        stack = stack.nested_stack_parent
    if not stack.bundling_required:
        return False
    app = Stage.of(scope)
    return "CDK_OUTDIR" in os.environ or (app is not None and not _is_temporary(Path(app.outdir)))


def _is_temporary(outdir: Path) -> bool:
    """As the CDK names the folder of an app that was given none."""
    temporary = Path(tempfile.gettempdir()).resolve()
    inside = outdir.resolve().parts[len(temporary.parts) :] if outdir.resolve().is_relative_to(temporary) else ()
    return bool(inside) and inside[0].startswith("cdk.out")


def cache() -> Path:
    """Outside of the project and its cdk.out; LEASEHOLD_CACHE names another place."""
    given = os.environ.get(_CACHE)
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "leasehold"


def _build(
    place: Path, requirements: str, *, runtime: str, architecture: str, code: Mapping[str, Path], own: Sequence[Path]
) -> None:
    with _made(place) as made:
        not_code = shutil.ignore_patterns("__pycache__", "*.pyc", "job.toml")
        for inside, folder in code.items():
            shutil.copytree(folder, made / inside, ignore=not_code, dirs_exist_ok=True)
        whose = f"{code['.'].name}/job.toml" if code else "the dependency layer"
        install = [
            *(_uv(), "pip", "install", "--quiet", "--color", "never", "--no-deps"),
            *("--python-version", runtime.removeprefix("python")),
            *("--python-platform", _PLATFORMS[architecture], "--target", str(made if code else made / "python")),
        ]
        if requirements:
            # What is listed is all there is, each by its hash: nothing that nobody looked at must slip in.
            command = [*install, "--only-binary", ":all:", "--require-hashes", "--requirement", "-"]
            _install(command, whose, requirements)
        if own:
            _install([*install, *map(str, own)], whose)


def _install(command: Sequence[str], whose: str, requirements: str = "") -> None:
    try:
        subprocess.run(command, check=True, input=requirements, text=True, stderr=subprocess.PIPE)
    except subprocess.CalledProcessError as error:
        wrong = DeploymentError(f"{whose}: the requirements cannot be installed, as uv says:\n{error.stderr.strip()}")
        raise ending_in_its_reason(wrong) from None


def _as_layer(digest: str) -> Path:
    """The library below a folder `python`, without what is not for Lambda."""
    place = cache() / "code" / digest
    if place.is_dir():
        return place

    def left_out(path: str, names: list[str]) -> set[str]:
        top = set(NOT_FOR_LAMBDA) if Path(path) == LIBRARY else set()
        return {name for name in names if name in top or name == "__pycache__" or name.endswith(".pyc")}

    with _made(place) as made:
        shutil.copytree(LIBRARY, made / "python" / "leasehold", ignore=left_out)
    return place


@contextmanager
def _made(place: Path) -> Iterator[Path]:
    """A folder that is there whole or not at all, also where two make it at once."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        made = Path(folder) / "made"
        made.mkdir()
        yield made
        try:
            made.rename(place)
        except OSError:  # another synthesis was faster
            if not place.is_dir():
                raise


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _contents(folder: Path, *, without: Sequence[str] = ()) -> list[str]:
    """Names and digests of all that a folder deploys."""
    return [
        f"{path.relative_to(folder)} {_file_digest(path)}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.suffix != ".pyc"
        and path.relative_to(folder).parts[0] not in without
    ]


def _uv() -> str:
    beside_python = os.path.dirname(sys.executable)
    uv = shutil.which("uv", path=os.pathsep.join([beside_python, os.environ.get("PATH", "")]))
    if uv is None:
        raise RuntimeError(
            "uv is needed to build the dependency layer, and was not found. "
            'Install it: pip install "leasehold[cdk]" brings it. Or pass a layer of your own: dependency_layer=…'
        )
    return uv


def runtime_of_this_machine() -> lambda_.Runtime:
    """For the local AWS, which runs functions with the Python that deployed them."""
    return lambda_.Runtime.PYTHON_3_12 if sys.version_info < (3, 13) else lambda_.Runtime.PYTHON_3_13


def architecture_of_this_machine() -> lambda_.Architecture:
    is_arm = platform.machine().lower() in ("arm64", "aarch64")
    return lambda_.Architecture.ARM_64 if is_arm else lambda_.Architecture.X86_64
