"""The stacks deployed on a local AWS of their own, for as long as a `with` block."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.local.aws import inspection
from leasehold.local.aws.instance import LocalAws
from tests import servers
from tests.local_project import LocalProject
from tests.local_stack import DSN_PARAMETER, LocalStack
from tests.sentry_server import SentryServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def deployed_stack() -> Iterator[LocalStack]:
    """A copy of the project, deployed with the real command to a ministack on a free port."""
    with (
        tempfile.TemporaryDirectory(prefix="leasehold-bench-", ignore_cleanup_errors=True) as folder,
        SentryServer() as sentry,
    ):
        project = LocalProject.make(Path(folder) / "project")
        try:
            answer = project.leasehold("local", "up", "--port", str(servers.free_port()))
            if answer.returncode:
                raise RuntimeError(f"the local AWS did not start: {answer.stdout}{answer.stderr}")
            running = LocalAws(project.root).running()
            assert running is not None
            parameters = inspection.client(running, "ssm")
            parameters.put_parameter(Name=DSN_PARAMETER, Value=sentry.dsn, Type="SecureString")
            stack = LocalStack(project, sentry)
            stack.deploy()
            yield stack
        finally:
            LocalAws(project.root).down()
