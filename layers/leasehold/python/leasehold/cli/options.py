"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Root = Annotated[Path, typer.Option(help="The project's folder.")]
Port = Annotated[
    int,
    typer.Option(
        min=0,
        max=65535,
        help="The port on loopback that the local AWS listens on, if it must be started; 0 finds a free one.",
    ),
]
HERE = Path()
# The same as leasehold.local.aws.instance has it, which takes a while to import.
DEFAULT_PORT = 0
