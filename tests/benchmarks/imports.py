"""Imports, which are cold starts: every function until it could make its first call, against a bare botocore client.

Fresh interpreters that take turns, with .pyc files, with the path that Lambda gives a function: its folder and its
layers. CPU time, since nothing is waited for and the machine may be busy.
"""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import batched
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]
FUNCTIONS = ROOT / "functions"
LAYER = ROOT / "layers" / "leasehold" / "python"
BARE = "import botocore.session; botocore.session.get_session().create_client('dynamodb')"
# As at the first invocation: the module, then what it keeps for as long as its container lives.
OPENED = """
import sys, handler
if not hasattr(handler, "lambda_handler"):
    import leasehold.runtime.entry
else:  # the system's own: its folder holds one line, and the layer the rest
    handler = sys.modules[handler.lambda_handler.__module__]
entry = sys.modules.get("leasehold.runtime.entry")
opens = [getattr(module, name, None) for module in (handler, entry) if module for name in ("_container", "_client")]
opens = [each for each in opens if each] or [lambda: handler.open_container("registry_publisher")]
opens[0]()
"""
_TIMED = "import time; began = time.process_time(); exec({code!r}); print(time.process_time() - began)"
# What the stacks tell the poller, which has the most of it.
_SETTINGS = {
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "LEASEHOLD_JOBS_TABLE": "jobs",
    "LEASEHOLD_DEAD_LETTERS_TABLE": "dead-letters",
    "LEASEHOLD_SENTRY_DSN_PARAMETER": "/leasehold/sentry-dsn",
    "LEASEHOLD_SCHEDULE_GROUP": "leasehold",
    "LEASEHOLD_SCHEDULE_FUNCTION_ARN": "arn:aws:lambda:us-east-1:000000000000:function:trigger",
    "LEASEHOLD_SCHEDULE_ROLE_ARN": "arn:aws:iam::000000000000:role/wake",
    "LEASEHOLD_EVENT_BUS": "bus",
    "PYDANTIC_DISABLE_PLUGINS": "1",
}


def folders() -> dict[str, Path]:
    """Every deployed function by its name; the exercises of our own tests are none."""
    found = {path.parent.relative_to(FUNCTIONS): path.parent for path in sorted(FUNCTIONS.rglob("handler.py"))}
    return {str(name): folder for name, folder in found.items() if name.parts[0] != "exercises"}


def measure(rounds: int) -> dict[str, float]:
    """CPU milliseconds of the bare client, and how many times that each function takes.

    Each function is compared with a bare client of the same moment, which it shares with one other, so that whatever
    else the machine does then slows all of them.
    """
    bare: list[float] = []
    ratios: dict[str, list[float]] = {name: [] for name in folders()}
    for number in range(rounds + 1):
        for pair in batched(folders().items(), 2, strict=False):
            least = _timed(BARE, ROOT)
            taken = {name: _timed(OPENED, folder) for name, folder in pair}
            if number:  # the first one may have had to compile
                bare.append(least)
                for name, milliseconds in taken.items():
                    ratios[name].append(milliseconds / least)
    return {"bare_client_ms": median(bare)} | {name: median(each) for name, each in ratios.items()}


def loaded(folder: Path) -> list[str]:
    """The modules that a function has loaded by then."""
    return _run(f"{OPENED}\nprint(*sys.modules)", folder).split()


def _timed(code: str, folder: Path) -> float:
    return float(_run(_TIMED.format(code=code), folder).split()[-1]) * 1000


def _run(script: str, folder: Path) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "LEASEHOLD_"))}
    path = os.pathsep.join([str(folder), str(LAYER)])
    environment = {**inherited, **_SETTINGS, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout
