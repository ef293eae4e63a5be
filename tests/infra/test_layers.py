"""What goes into the layers: what was only looked at is never taken for what was built."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from aws_cdk import App, Stack
from aws_cdk import aws_lambda as lambda_

from leasehold.cdk import layers

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

RUNTIME, ARCHITECTURE = lambda_.Runtime.PYTHON_3_13, lambda_.Architecture.ARM_64


def synthesise(out: Path, code: Path, bundled: list[str]) -> dict[str, Path]:
    """The asset of each resource, as `cdk deploy` would upload it from this folder."""
    app = App(context={"aws:cdk:bundling-stacks": bundled, "aws:cdk:enable-asset-metadata": True}, outdir=str(out))
    stack = Stack(app, "Shop")
    layers.code_layer(stack, "Library", runtime=RUNTIME)
    layers.dependency_layer(stack, "Packages", runtime=RUNTIME, architecture=ARCHITECTURE)
    lambda_.Function(
        stack,
        "Handler",
        runtime=RUNTIME,
        handler="handler.handler",
        code=layers.handler_code(stack, code, ("requests==2.32.0",), runtime=RUNTIME, architecture=ARCHITECTURE),
    )
    app.synth()
    resources = json.loads((out / "Shop.template.json").read_text())["Resources"]
    return {name: out / each["Metadata"]["aws:asset:path"] for name, each in resources.items() if "Metadata" in each}


def test_a_deployment_after_a_command_that_builds_nothing_uploads_what_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_downloads(place: Path, *_: object, **__: object) -> None:
        place.mkdir(parents=True)
        (place / "installed").write_text("")

    monkeypatch.setenv("LEASEHOLD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(layers, "_build", without_downloads)
    code, out = tmp_path / "send_letter", tmp_path / "out"
    code.mkdir()
    (code / "handler.py").write_text("def handler(job): ...")

    synthesise(out, code, [])  # as `cdk bootstrap`, `cdk ls` and `cdk destroy` do
    deployed = synthesise(out, code, ["**"])

    held = {name.rstrip("0123456789ABCDEF"): {each.name for each in path.iterdir()} for name, path in deployed.items()}
    assert held == {"Library": {"python"}, "Packages": {"installed"}, "Handler": {"installed"}}
    (library,) = (path for name, path in deployed.items() if name.startswith("Library"))
    assert (library / "python" / "leasehold" / "queue.py").is_file()
