"""The user's own concurrency policy, as a layer that only the poller has."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsii
from aws_cdk import BundlingOptions, DockerImage, IgnoreMode, ILocalBundling
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.paths import NOT_CODE

if TYPE_CHECKING:
    from infra.stages import Stage


class PolicyLayer(Construct):
    """`policy` is `module:function`; the module lies in `folder`, which is deployed whole."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage, folder: Path, policy: str) -> None:
        super().__init__(scope, construct_id)
        check_policy(folder, policy)
        self.layer = lambda_.LayerVersion(
            self,
            "Layer",
            layer_version_name=stage.named("policy"),
            description=f"The concurrency policy {policy}",
            code=lambda_.Code.from_asset(
                str(folder),
                exclude=NOT_CODE,
                ignore_mode=IgnoreMode.GLOB,
                bundling=BundlingOptions(
                    image=DockerImage.from_registry("docker-is-not-used"), local=_BelowPython(folder)
                ),
            ),
            compatible_runtimes=[lambda_.Runtime.PYTHON_3_13],
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


@jsii.implements(ILocalBundling)
class _BelowPython:
    """A layer's modules are below `python`; the user's folder need not know."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def try_bundle(self, output_dir: str, options: Any = None, **_: Any) -> bool:
        not_code = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(self._folder, Path(output_dir) / "python", ignore=not_code, dirs_exist_ok=True)
        return True
