"""What every test may use: dummy AWS settings, and real engines on loopback ports, one per test process."""

from __future__ import annotations

import gc
import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config
from hypothesis import settings

from leasehold.local.aws import inspection
from leasehold.local.aws.instance import LocalAws
from tests import dynoxide_words, servers
from tests.local_project import LocalProject
from tests.local_stack import DSN_PARAMETER, LocalStack
from tests.sentry_server import SentryServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mypy_boto3_dynamodb import DynamoDBClient

ROOT = Path(__file__).parent.parent
REGION = "us-east-1"
# What is slow to set up is set up once: all tests of these folders go to the same process, with `--dist loadgroup`.
GROUPS = {
    "tests/api/test_fuzz.py": "fuzz",
    # Whatever synthesises: Node is started and the constructs are loaded once, not once per process.
    "tests/infra/": "infra",
    "tests/batches/test_rights.py": "infra",
    "tests/docs/test_code_blocks.py": "infra",
    "tests/docs/test_costing.py": "infra",
    "tests/docs/test_limits_page.py": "infra",
    "tests/e2e/": "local-aws",
    "tests/acceptance/": "local-aws",
}


# Property tests repeat exactly and know no deadline: a slow machine must not make them fail.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=60, database=None)
settings.load_profile("repeatable")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Group by folder: with pytest 9.2, xdist 3.8 does not see the marker xdist_group."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]

    class ByFolder(LoadGroupScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return next((group for folder, group in GROUPS.items() if nodeid.startswith(folder)), nodeid)

    return ByFolder(config, log)


def pytest_configure() -> None:
    """Programs that tests start hear Ctrl-C, also when these run in the background, where shells have SIGINT ignored.

    What is ignored stays so in whatever is started; what has a handler, such as this one that does nothing, does not.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What measures time comes last: in `make test` it waits until nothing else runs."""
    items.sort(key=lambda item: item.path.name == "test_punctuality.py")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Ten thousand items are there to stay: the garbage collector looks neither while they are made nor ever again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many pairs of faults were struck: each of those tests notes its own number."""
    passed = terminalreporter.getreports("passed")
    pairs = [value for report in passed for name, value in report.user_properties if name == "pairs of faults"]
    if pairs:
        terminalreporter.write_line(f"{sum(map(int, pairs))} pairs of faults in {len(pairs)} tests")


@pytest.fixture(scope="session", autouse=True)
def aws_environment() -> Iterator[None]:
    """Dummy credentials and a region, nothing of the developer's own: no test can reach a real account."""
    dynoxide_words.install()
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("AWS_ACCESS_KEY_ID", "leasehold-tests")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "leasehold-tests")
        patch.setenv("AWS_DEFAULT_REGION", REGION)
        patch.setenv("AWS_REGION", REGION)
        patch.setenv("AWS_CONFIG_FILE", os.devnull)
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


@pytest.fixture(scope="session")
def dynoxide_endpoint(aws_environment: None) -> Iterator[str]:
    """The address of a real DynamoDB engine; its tables last for the session, so name them apart."""
    if not servers.dynoxide_is_built_for_this_machine():
        pytest.skip("dynoxide has no build for this machine: these tests need Linux x86_64")
    with servers.dynoxide(root=ROOT) as server:
        yield server.endpoint


@pytest.fixture(scope="session")
def ministack_endpoint(aws_environment: None) -> Iterator[str]:
    """The address of a local AWS; what is made in it lasts for the session."""
    with servers.ministack(root=ROOT) as server:
        yield server.endpoint


@pytest.fixture(scope="session")
def make_client(aws_environment: None) -> Iterator[Callable[[str], DynamoDBClient]]:
    """Make a DynamoDB client for an endpoint; every client is closed at the end of the session."""
    session = boto3.Session()
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 3},
        connect_timeout=2,
        read_timeout=10,
        max_pool_connections=32,
    )
    clients: list[DynamoDBClient] = []

    def make(endpoint: str) -> DynamoDBClient:
        clients.append(session.client("dynamodb", endpoint_url=endpoint, config=config))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture(scope="session")
def sentry() -> Iterator[SentryServer]:
    """A Sentry that the deployed functions report to."""
    with SentryServer() as server:
        yield server


@pytest.fixture(scope="session")
def local_project(tmp_path_factory: pytest.TempPathFactory, sentry: SentryServer) -> Iterator[LocalProject]:
    """A copy of this project, and its local AWS started and empty but for the DSN of a Sentry."""
    project = LocalProject.make(tmp_path_factory.mktemp("local-aws") / "project")
    # It outlives the command that starts it: a session that is told to end must still get to the end of this fixture.
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", returncode=128 + signal.SIGTERM))
    try:
        answer = project.leasehold("local", "up", "--port", str(servers.free_port()))
        assert answer.returncode == 0, answer.stderr
        running = LocalAws(project.root).running()
        assert running is not None
        parameters = inspection.client(running, "ssm")
        parameters.put_parameter(Name=DSN_PARAMETER, Value=sentry.dsn, Type="SecureString")
        yield project
    finally:
        LocalAws(project.root).down()
        shutil.rmtree(project.root, ignore_errors=True)


@pytest.fixture(scope="session")
def local_stack(local_project: LocalProject, sentry: SentryServer) -> LocalStack:
    """The stacks, deployed there; up to date already where the demo has deployed them."""
    stack = LocalStack(local_project, sentry)
    stack.deploy()
    return stack
