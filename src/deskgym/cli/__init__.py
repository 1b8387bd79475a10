"""The command line: `deskgym --help`.

It exits with 1 where something does not hold, and with 2 for a wrong use.
"""

from __future__ import annotations

import sys

import typer

from deskgym.cli import (
    audit,
    baseline,
    catalogue,
    controls,
    database,
    mcp,
    recordings,
    report,
    run,
    serve,
)
from deskgym.cli.console import err, escape, print_what_fits
from deskgym.errors import DatabaseDamaged, DatabaseUnavailable, UsageError

app = typer.Typer(
    help="Environments and a benchmark for agents that do customer service and back-office work. "
    "The reward is what the records end up saying.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    catalogue.tasks,
    catalogue.tools,
    run.run,
    report.report,
    report.compare,
    controls.controls,
    controls.sweep,
    audit.audit,
    recordings.show,
    recordings.replay,
    recordings.verify,
    baseline.baseline,
    serve.serve,
    mcp.mcp,
):
    app.command()(command)
app.add_typer(database.app, name="database")


def main() -> None:
    """Run the command line; a caller's mistake is a sentence and exit code 2."""
    print_what_fits()
    try:
        app()
    except (UsageError, DatabaseUnavailable, DatabaseDamaged) as error:
        err.print(f"[bold red]deskgym:[/] {escape(str(error))}")
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe has gone, as `| head` does
        sys.exit(1)
