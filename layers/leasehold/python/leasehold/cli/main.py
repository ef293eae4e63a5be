"""The command line's front door: says what is missing where its packages were not installed."""

from __future__ import annotations

import sys

_OPTIONAL = frozenset({"rich", "typer"})
EXIT_UNUSABLE = 2


def main() -> None:
    try:
        from leasehold.cli.commands import app_for

        # Commands import what they need when they run, so it may be missing only then.
        app_for(sys.argv[1:])()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _OPTIONAL:
            raise
        print(
            f"leasehold's commands need the package {error.name!r}, which is not installed. "
            "Run: pip install 'leasehold[cli]'",
            file=sys.stderr,
        )
        sys.exit(EXIT_UNUSABLE)
