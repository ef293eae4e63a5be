"""docs/cdk.md and docs/job-toml.md say what the code says."""

from __future__ import annotations

from docs import generate_package


def test_the_keys_of_job_toml_and_their_defaults_are_those_of_the_code() -> None:
    assert set(generate_package.KEYS) == set(generate_package.found_keys())
    assert generate_package.JOB_TOML.read_text() == generate_package.job_toml_page(), "run `make docs`"


def test_the_props_are_those_of_the_constructs() -> None:
    assert generate_package.CDK.read_text() == generate_package.cdk_page(), "run `make docs`"
