"""The command line."""

import typer

app = typer.Typer(no_args_is_help=True, help="Leasehold: a serverless scheduled job queue for AWS.")
