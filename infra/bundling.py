"""Packages for Lambda, installed with uv for Lambda's platform, whatever platform this is. No docker."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jsii
from aws_cdk import AssetHashType, BundlingOptions, DockerImage, IgnoreMode, ILocalBundling
from aws_cdk import aws_lambda as lambda_

from infra.paths import NOT_CODE

if TYPE_CHECKING:
    from pathlib import Path

_PLATFORMS = {"arm64": "aarch64-manylinux2014", "x86_64": "x86_64-manylinux2014"}


def with_packages(
    folder: Path, *, architecture: str, requirements: str, into: str, copies: bool = False
) -> lambda_.Code:
    """An asset with the packages of a requirements file below `into`; with `copies`, with the folder's own code too."""
    return lambda_.Code.from_asset(
        str(folder),
        exclude=NOT_CODE,
        ignore_mode=IgnoreMode.GLOB,
        # The hash covers what comes out: the architecture is not part of what goes in.
        asset_hash_type=AssetHashType.OUTPUT,
        bundling=BundlingOptions(
            image=DockerImage.from_registry("docker-is-not-used"),
            local=UvBundling(folder, architecture=architecture, requirements=requirements, into=into, copies=copies),
        ),
    )


@jsii.implements(ILocalBundling)
class UvBundling:
    def __init__(self, folder: Path, *, architecture: str, requirements: str, into: str, copies: bool) -> None:
        self._folder = folder
        self._architecture = architecture
        self._requirements = requirements
        self._into = into
        self._copies = copies

    def try_bundle(self, output_dir: str, options: Any = None, **_: Any) -> bool:
        if self._copies:
            not_code = shutil.ignore_patterns("__pycache__", "*.pyc", "job.toml")
            shutil.copytree(self._folder, output_dir, ignore=not_code, dirs_exist_ok=True)
        # What is listed is all there is, each by its hash: nothing that nobody looked at must slip in.
        command = [
            *(_uv(), "pip", "install", "--quiet", "--only-binary", ":all:", "--require-hashes", "--no-deps"),
            *("--python-version", "3.13", "--python-platform", _PLATFORMS[self._architecture]),
            *("--target", os.path.join(output_dir, self._into)),
            *("--requirement", "-"),
        ]
        subprocess.run(command, check=True, input=self._requirements, text=True)
        return True


def _uv() -> str:
    beside_python = os.path.dirname(sys.executable)
    uv = shutil.which("uv", path=os.pathsep.join([beside_python, os.environ.get("PATH", "")]))
    if uv is None:
        raise RuntimeError("uv is needed to build the dependency layer, and was not found. Run `make setup`.")
    return uv
