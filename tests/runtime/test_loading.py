"""A deployed function imports its handler under the name that it has in its project."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from leasehold.aws.names import BESIDE, DESCRIBE_SOURCE
from leasehold.runtime.entry import entry
from leasehold.runtime.handler import BaseJobHandler
from leasehold.runtime.loading import load_handler

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HANDLER = """
from leasehold import BaseJobHandler
from shopjobs.common.mail import sender
from shopjobs.send_letter.payload import Letter

class SendLetter(BaseJobHandler[Letter]):
    def handle(self, payload: Letter) -> str:
        return sender()
"""
PAYLOAD = "from pydantic import BaseModel\n\nclass Letter(BaseModel):\n    to: str\n"


@pytest.fixture
def task_root(tmp_path: Path) -> Iterator[Path]:
    """The folder of a deployed function, as `handler_code` makes it."""
    (tmp_path / "handler.py").write_text(HANDLER)
    (tmp_path / "payload.py").write_text(PAYLOAD)
    (tmp_path / BESIDE / "common").mkdir(parents=True)
    (tmp_path / BESIDE / "common" / "mail.py").write_text("def sender():\n    return 'shop@example.com'\n")
    yield tmp_path
    for name in [each for each in sys.modules if each.partition(".")[0] == "shopjobs"]:
        del sys.modules[name]


def test_it_imports_its_neighbours_and_what_it_shares_with_other_types(task_root: Path):
    handler: Any = load_handler("shopjobs.send_letter.handler", task_root)

    assert handler().handle(handler.parse({"to": "ada"})) == "shop@example.com"


class Page(BaseModel):
    number: int


class Render(BaseJobHandler[Page]):
    def handle(self, payload: Page) -> None: ...


class Context:
    aws_request_id = "0" * 36
    function_name = "render"

    def get_remaining_time_in_millis(self) -> int:
        return 10_000


def test_a_function_of_the_app_says_what_its_payloads_look_like_as_a_folder_does():
    said = entry(Render)({"source": DESCRIBE_SOURCE}, Context())

    assert said["schema"]["properties"] == {"number": {"title": "Number", "type": "integer"}}
