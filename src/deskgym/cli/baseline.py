"""`deskgym baseline`: what simple agents earn on the tickets, by either rubric."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import orjson
import typer

from deskgym.cli.console import AsJson, Seeds, out, parse_seeds, print_json, reward_text, table
from deskgym.errors import UsageError
from deskgym.suites.tickets.baseline import Baseline
from deskgym.suites.tickets.baseline import baseline as run_baseline
from deskgym.suites.tickets.scenario import TIERS


def baseline(
    rubric: Annotated[
        list[str] | None,
        typer.Option("--rubric", help="A version of the rubric; may be repeated; the default one."),
    ] = None,
    tier: Annotated[
        list[str] | None, typer.Option("--tier", help="A tier; may be repeated; all by default.")
    ] = None,
    seeds: Seeds = "0-44",
    episodes: Annotated[bool, typer.Option("--episodes", help="Print a line an episode.")] = False,
    file: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Save the scores, as baseline_scores.json."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run an oracle, a fixed reply and keyword stuffing on the tickets' tiers, with averages."""
    tiers = tuple(tier or TIERS)
    chosen = parse_seeds(seeds)
    done = [run_baseline(version, tiers, chosen) for version in (rubric or [None])]
    scores = [item.to_dict() for item in done]
    if file is not None:
        _save(file, scores)
    if as_json:
        print_json(scores)
        return
    for item in done:
        if episodes:
            out.print("\n".join(map(str, item.episodes)))
        _print_averages(item, tiers)


def _print_averages(item: Baseline, tiers: tuple[str, ...]) -> None:
    rows = table(item.rubric, *tiers, right=tiers)
    for agent, averages in item.averages().items():
        rows.add_row(agent, *(reward_text(averages[tier]) for tier in tiers))
    out.print(rows)
    out.print()


def _save(file: Path, scores: list[dict[str, object]]) -> None:
    try:
        file.write_bytes(orjson.dumps(scores, option=orjson.OPT_INDENT_2))
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
