"""What every stage must pass before anybody deploys it: cdk-nag's rule packs and cfn-lint."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_sqs as sqs

from infra.environments import ENVIRONMENTS
from infra.gates import add_gates
from leasehold.cdk import acknowledgements
from leasehold.cdk.acknowledgements import Finding
from tests.infra.synthesised import synthesised

STAGE_NAMES = [stage.name for stage in ENVIRONMENTS]


def findings(stage: str, kind: str) -> list[str]:
    """What the packs found, as `rule at construct`."""
    return [
        f"{violation['ruleName']} at {construct['constructPath']}"
        for pack in synthesised(stage).report["pluginReports"]
        for violation in pack[kind]
        for construct in violation["violatingConstructs"]
    ]


@pytest.mark.parametrize("stage", STAGE_NAMES)
def test_cdk_nag_finds_nothing_that_is_not_acknowledged(stage: str) -> None:
    assert findings(stage, "violations") == []


@pytest.mark.parametrize("stage", STAGE_NAMES)
def test_both_rule_packs_have_looked(stage: str) -> None:
    assert [pack["pluginName"] for pack in synthesised(stage).report["pluginReports"]] == ["AwsSolutions", "Serverless"]
    assert findings(stage, "suppressedViolations"), "a stage without any finding was not looked at"


def test_every_acknowledgement_is_still_needed() -> None:
    """One that no finding matches is out of date, and would hide the next one."""
    listed = {each.id.split("::", 1)[1] for each in all_findings()}
    found = {finding.partition(" at ")[0] for finding in findings("prod", "suppressedViolations")}

    assert listed <= found


def test_every_acknowledgement_says_why() -> None:
    assert all(len(each.reason) > 60 for each in all_findings())


def all_findings() -> list[Finding]:
    groups = [each for each in vars(acknowledgements).values() if isinstance(each, tuple)]
    return [each for group in groups for each in group if isinstance(each, Finding)]


def test_an_unacknowledged_finding_fails_synth(tmp_path: Path) -> None:
    app = App(outdir=str(tmp_path))
    sqs.Queue(Stack(app, "stack"), "Queue")
    add_gates(app)

    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()


def test_cfn_lint_accepts_every_template(tmp_path: Path) -> None:
    templates = []
    for stage in STAGE_NAMES:
        for name, template in (("data", synthesised(stage).data), ("queue", synthesised(stage).queue)):
            path = tmp_path / f"{stage}-{name}.template.json"
            path.write_text(json.dumps(template))
            templates.append(str(path))

    # W3005 is about a DependsOn that a reference implies: CDK writes these by itself, and they do no harm.
    answer = linted("--ignore-checks", "W3005", "--", *templates)

    assert (answer.returncode, answer.stdout) == (0, "")


def test_cfn_lint_would_refuse_a_bad_template(tmp_path: Path) -> None:
    queue = {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": "soon"}}
    path = tmp_path / "bad.template.json"
    path.write_text(json.dumps({"Resources": {"Queue": queue}}))

    assert linted("--", str(path)).returncode != 0


def linted(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "cfn-lint"), "--regions", "eu-central-1", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)
