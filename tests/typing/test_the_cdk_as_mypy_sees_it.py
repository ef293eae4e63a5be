"""mypy reads only the modules of the CDK that pyproject.toml names: each that we import must be among them."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = ("layers", "infra", "functions", "docs", "tests")


def named_in_pyproject() -> set[str]:
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    (named,) = [each["module"] for each in overrides if each.get("follow_imports") == "normal"]
    return set(named)


def imported() -> set[str]:
    site_packages = Path(pytest.__file__).parents[1]
    files = [ROOT / "app.py", *(path for folder in OURS for path in (ROOT / folder).rglob("*.py"))]
    texts = [text for path in files if "aws_cdk" in (text := path.read_text())]
    froms = [node for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    names = {
        name
        for node in froms
        if (node.module or "").startswith("aws_cdk")
        for name in (node.module, *(f"{node.module}.{each.name}" for each in node.names))
    }
    return {name for name in names if name and (site_packages / name.replace(".", "/")).is_dir()}


def test_every_module_of_the_cdk_that_we_import_is_read() -> None:
    assert imported() == named_in_pyproject()
