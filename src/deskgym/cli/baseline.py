"""`deskgym baseline`: what simple agents, or a model, earn on the tickets."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
import typer

from deskgym.cli.console import (
    AsJson,
    counted,
    err,
    escape,
    out,
    parse_seeds,
    print_json,
    reward_text,
    table,
)
from deskgym.cli.keeping import Worlds, worlds_in
from deskgym.cli.provider import resolve
from deskgym.errors import UsageError
from deskgym.evaluate.ticket_baseline import EPISODES, SAMPLING, ModelBaseline
from deskgym.evaluate.ticket_client import TicketServerFailed
from deskgym.models.options import ModelOptions
from deskgym.suites.tickets.baseline import Baseline, Episode
from deskgym.suites.tickets.baseline import baseline as run_baseline
from deskgym.suites.tickets.conversation import TicketEnvironment
from deskgym.suites.tickets.scenario import TIERS, Tier, tier_of
from deskgym.suites.tickets.ticket import TICKETS

SCORES_FILE: Final = Path("baseline_scores.json")


def baseline(
    rubric: Annotated[
        list[str] | None,
        typer.Option("--rubric", help="A version of the rubric; may be repeated; the default one."),
    ] = None,
    tier: Annotated[
        list[str] | None, typer.Option("--tier", help="A tier; may be repeated; all by default.")
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds",
            metavar="SEEDS",
            help="Seeds, such as 0-9; 0-44, each ticket once, or 0-4 for a model.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Run this model instead: openai:MODEL, anthropic:MODEL, groq or openenv (their "
            "variables name the model). Keys are read from the environment.",
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", metavar="URL", help="Where the model is.")
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--env-base-url",
            metavar="URL",
            envvar="ENV_BASE_URL",
            help="A server with the published ticket endpoints, on which the model is run.",
        ),
    ] = None,
    episodes: Annotated[
        bool, typer.Option("--episodes", help="Print a line an episode, as a model's run does.")
    ] = False,
    file: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Save the scores here; those of a model go to baseline_scores.json by default.",
        ),
    ] = None,
    database: Worlds = None,
    as_json: AsJson = False,
) -> None:
    """Run an oracle, a fixed reply and keyword stuffing on the tickets' tiers, or a model."""
    tiers: tuple[Tier, ...] = tuple(tier_of(name) for name in (tier or TIERS))
    if model is not None:
        if rubric is not None and len(rubric) > 1:
            raise UsageError("a model is run by one rubric; name --rubric once")
        asked = resolve(model, base_url, os.environ)
        options = ModelOptions(asked.base_url, asked.api_key, SAMPLING)
        version = rubric[0] if rubric else None
        made = ModelBaseline(asked.name, options, server, version)
        chosen = parse_seeds(seeds or f"0-{EPISODES - 1}")
        _run_model(made, tiers, chosen, file or SCORES_FILE, as_json=as_json)
        return
    if base_url is not None:
        raise UsageError("--base-url is where a model is; --model names one")
    chosen = parse_seeds(seeds or f"0-{len(TICKETS) - 1}")
    with worlds_in(database) as engine:
        done = [
            run_baseline(version, tiers, chosen, engine=engine) for version in (rubric or [None])
        ]
    scores = [item.to_dict() for item in done]
    if file is not None:
        _save(file, scores)
    if as_json:
        print_json(scores)
        return
    for item in done:
        if episodes:
            out.print(escape("\n".join(map(str, item.episodes))))
        _print_averages(item, tiers)
    if os.environ.get("GROQ_API_KEY"):
        err.print("GROQ_API_KEY is set: `deskgym baseline --model groq` runs its model")


def _run_model(
    made: ModelBaseline, tiers: tuple[Tier, ...], seeds: list[int], file: Path, *, as_json: bool
) -> None:
    """Run a model, print its episodes in order as they end, and save the scores."""
    if made.server is not None and made.rubric is not None:
        raise UsageError("a server scores by its own rubric; leave --rubric or --env-base-url out")
    with TicketEnvironment(rubric=made.rubric) as environment:
        version = environment.rubric_version if made.server is None else f"that of {made.server}"
    done: list[Episode] = []

    async def run() -> None:
        async for episode in made.episodes(tiers, seeds):
            done.append(episode)
            if not as_json:
                out.print(escape(str(episode)))

    try:
        asyncio.run(run())
    except TicketServerFailed as failed:
        raise UsageError(f"the ticket server is not there: {failed}") from failed
    except KeyboardInterrupt:
        err.print(f"stopped after {counted(len(done), 'episode')}; nothing is saved")
        raise typer.Exit(130) from None
    scored = Baseline(version, tuple(done))
    _save(file, scored.published())
    if as_json:
        print_json(scored.published())
        return
    out.print()
    _print_averages(scored, tiers)
    invalid = sum(episode.reward is None for episode in done)
    out.print(
        escape(
            f"{counted(len(done) - invalid, 'episode')} with a reward, {invalid} invalid; "
            f"saved to {file}"
        )
    )


def _print_averages(item: Baseline, tiers: Sequence[str]) -> None:
    rows = table(escape(item.rubric), *tiers, right=tuple(tiers))
    for agent, averages in item.averages().items():
        rows.add_row(escape(agent), *(_cell(averages, tier) for tier in tiers))
    out.print(rows)
    out.print()


def _cell(averages: Mapping[str, float], tier: str) -> str:
    return reward_text(averages[tier]) if tier in averages else "none"


def _save(file: Path, scores: Any) -> None:
    try:
        file.write_bytes(orjson.dumps(scores, option=orjson.OPT_INDENT_2))
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
