"""`deskgym mcp`: one episode for an MCP client."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from deskgym.cli.console import err, escape, parse_parameters
from deskgym.cli.keeping import VARIABLE
from deskgym.errors import MissingExtra, UsageError
from deskgym.recording import Recording
from deskgym.suite import find_tasks
from deskgym.task import SEED_MAX

if TYPE_CHECKING:
    from deskgym.runstore import EpisodeState

SERVER: Final = "deskgym"


def mcp(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task's id.")],
    seed: Annotated[int, typer.Option(min=0, max=SEED_MAX, help="The episode's seed.")] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=NUMBER", help="A parameter; may be repeated."),
    ] = None,
    rubric: Annotated[
        str | None, typer.Option(help="The rubric's version; the suite's default otherwise.")
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(
            help="The episode's id. It then stays open when the client goes, and a client that "
            "comes back with the same id goes on with it."
        ),
    ] = None,
    agent: Annotated[str, typer.Option(help="Who acts, for recordings.")] = "agent",
    file: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Add the recording here when the episode is over."
        ),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar=VARIABLE,
            help="Where the episode is kept: sqlite:///FILE, postgresql://… or embedded; a file in "
            "your data directory otherwise.",
        ),
    ] = None,
    config: Annotated[
        bool,
        typer.Option(
            "--config", help="Print what to put into an MCP client's configuration instead."
        ),
    ] = False,
) -> None:
    """Serve one episode over MCP, on standard input and output, to the client that runs this.

    The agent sees the tools, the policy and the customer's words; never the reward. For example:

      deskgym mcp service/damaged-lamp --seed 3 --out run.jsonl
    """
    find_tasks([_whole(task)])
    if config:
        sys.stdout.write(json.dumps(configuration(), indent=2) + "\n")
        return
    try:
        from deskgym.serve.mcp.stdio import StdioEpisode, serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "mcp"):
            raise
        raise MissingExtra("`deskgym mcp`", "mcp") from error
    episode = StdioEpisode(
        task, database or "default", seed, parse_parameters(settings or []), rubric,
        id, agent,
    )  # fmt: skip

    def ended(state: EpisodeState, recording: Recording | None) -> None:
        # The client shows this, and the agent may read it: it says nothing of the reward.
        actions = "1 action" if state.steps == 1 else f"{state.steps} actions"
        err.print(escape(f"deskgym: {state.id} is {state.status} after {actions}"))
        if recording is not None and file is not None:
            with file.open("ab") as lines:
                lines.write(recording.to_json() + b"\n")
            err.print(escape(f"deskgym: `deskgym show {file}` steps through it"))

    serve(episode, ended)


def _whole(task: str) -> str:
    if "/" not in task:
        raise UsageError(f"name one task, such as {task}/…; `deskgym tasks {task}` lists them")
    return task


def configuration() -> dict[str, Any]:
    """What starts this very command, in the form that most MCP clients read."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--config"]
    command = {"command": str(Path(sys.argv[0]).absolute()), "args": arguments}
    return {"mcpServers": {SERVER: command}}
