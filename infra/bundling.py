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
    from collections.abc import Sequence
    from pathlib import Path

_PLATFORMS = {"arm64": "aarch64-manylinux2014", "x86_64": "x86_64-manylinux2014"}


def with_packages(
    folder: Path, *, architecture: str, requirements: Path, into: str, copies: Sequence[str] = ()
) -> lambda_.Code:
    """A folder's asset: some of its files, and the packages of a requirements file below `into`."""
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
    def __init__(
        self, folder: Path, *, architecture: str, requirements: Path, into: str, copies: Sequence[str]
    ) -> None:
        self._folder = folder
        self._architecture = architecture
        self._requirements = requirements
        self._into = into
        self._copies = copies

    def try_bundle(self, output_dir: str, options: Any = None, **_: Any) -> bool:
        for name in self._copies:
            shutil.copy2(self._folder / name, output_dir)
        are_hashed = "--hash=" in self._requirements.read_text()
        command = [
            *(_uv(), "pip", "install", "--quiet", "--only-binary", ":all:", "--no-deps" if are_hashed else "--quiet"),
            *(["--require-hashes"] if are_hashed else []),
            *("--python-version", "3.13", "--python-platform", _PLATFORMS[self._architecture]),
            *("--target", os.path.join(output_dir, self._into)),
            *("--requirement", str(self._requirements)),
        ]
        subprocess.run(command, check=True)
        return True


def _uv() -> str:
    beside_python = os.path.dirname(sys.executable)
    uv = shutil.which("uv", path=os.pathsep.join([beside_python, os.environ.get("PATH", "")]))
    if uv is None:
        raise RuntimeError("uv is needed to build the dependency layer, and was not found. Run `make setup`.")
    return uv
