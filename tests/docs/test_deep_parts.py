"""The parts of `make test-deep` are all of the deep tests, and the page says what each finds."""

from __future__ import annotations

import re
import subprocess

from tests.docs.markdown import ROOT, text_of

MAKEFILE = (ROOT / "Makefile").read_text()
PARTS = dict(re.findall(r"^DEEP_([a-z]+) := (.+)$", MAKEFILE, re.MULTILINE))


def test_every_folder_with_deep_tests_is_in_a_part() -> None:
    marked = {
        path.relative_to(ROOT).parts[1]
        for path in (ROOT / "tests").rglob("*.py")
        if re.search(r"mark\.deep\b", path.read_text())
    }

    assert marked <= {folder.removeprefix("tests/") for folders in PARTS.values() for folder in folders.split()}


def test_the_page_says_what_each_part_finds_and_when_all_was_run() -> None:
    page = text_of("docs/reliability.md")
    rows = re.findall(r"^\| `([a-z]+)` \| .*?`tests/", page, re.MULTILINE)

    assert rows == list(PARTS) == re.findall(r"^DEEP_PARTS := (.+)$", MAKEFILE, re.MULTILINE)[0].split()
    assert "Last run whole" in page


def test_a_part_that_is_not_there_runs_nothing() -> None:
    command = ["make", "-n", "test-deep", "PART=everything"]
    dry = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    check = dry[dry.index("for part in") : dry.index("exit 2;; esac; done")] + "exit 2;; esac; done"

    answer = subprocess.run(["bash", "-c", check], capture_output=True, text=True, check=False)

    assert (answer.returncode, "there is no part everything" in answer.stderr) == (2, True)
