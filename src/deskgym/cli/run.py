"""`deskgym run`: agents over tasks and seeds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
from rich.padding import Padding

from deskgym.agents import find_agent, is_model
from deskgym.agents.human import HUMAN
from deskgym.cli import agent_options
from deskgym.cli.console import (
    AsJson,
    Seeds,
    counted,
    err,
    escape,
    out,
    parse_parameters,
    parse_seeds,
    print_json,
    reward_text,
    table,
)
from deskgym.cli.keeping import DatabaseUrl, Keeping, keeping
from deskgym.cli.progress import watched
from deskgym.dialogue.limits import ROUNDS_MAX, TURNS_MAX
from deskgym.errors import UsageError
from deskgym.evaluate import EpisodeKey, EpisodeResult, EpisodeSpec, ResultsFile, WorkerLost, stream
from deskgym.evaluate.flight import Finished
from deskgym.evaluate.openenv import submission_lines
from deskgym.evaluate.results_file import Planned
from deskgym.evaluate.stream import CONCURRENCY
from deskgym.models.options import ATTEMPTS_MAX, CALL_TIMEOUT_S
from deskgym.suite import find_tasks, load_suite
from deskgym.task import SEED_MAX

ROWS_MAX: Final = 200
"""How many episodes the table lists; --json and the results list all."""

Engine = Literal["local", "ray"]

REASONS_MAX: Final = 24
"""How many runs are explained below the table; --json and the recordings explain all."""


def run(
    name: Annotated[str, typer.Argument(metavar="TASK|SUITE", help="A task's id, or a suite.")],
    agents: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="NAME",
            help="Who acts: oracle, null, a control of the task (see `deskgym tasks --json`), on "
            "the back office careful and eager, a model (openai:MODEL, anthropic:MODEL, groq, "
            "openenv), or human, who is you. May be repeated; oracle by default.",
        ),
    ] = None,
    seeds: Seeds = "0",
    trials: Annotated[
        int, typer.Option(min=1, max=10_000, help="How often each seed is run, for pass^k.")
    ] = 1,
    file: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write each episode here as it ends: a line with its result and its recording. "
            "The same command again goes on where the last one stopped.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Begin FILE anew if it exists.")] = False,
    again: Annotated[
        bool,
        typer.Option("--again", help="Run the episodes of FILE that are invalid or errors again."),
    ] = False,
    rubric: Annotated[
        str | None, typer.Option(help="The rubric's version; the suite's default otherwise.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=NUMBER", help="A parameter; may be repeated."),
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, max=4096, help="How many episodes run at once.")
    ] = CONCURRENCY,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1024,
            help="How many processes run them, or Ray's actors: one process, or as many actors as "
            "the cluster has CPUs, if nothing is said.",
        ),
    ] = None,
    engine: Annotated[
        Engine,
        typer.Option(help="What runs them: this machine's processes, or a Ray cluster's actors."),
    ] = "local",
    ray_address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            envvar="RAY_ADDRESS",
            help="With --engine ray, the cluster: auto, HOST:PORT or ray://HOST:PORT. A cluster of "
            "this machine alone otherwise.",
        ),
    ] = None,
    database: DatabaseUrl = None,
    submission: Annotated[
        bool,
        typer.Option(
            "--openenv-lines",
            help="Print the [START], [STEP] and [END] lines of OpenEnv's submissions, and no more.",
        ),
    ] = False,
    as_json: AsJson = False,
    base_url: agent_options.BaseUrl = None,
    protocol: agent_options.Protocol = "native",
    stop_at_call: agent_options.StopAtCall = False,
    stream_replies: agent_options.Stream = False,
    temperature: agent_options.Temperature = None,
    top_p: agent_options.TopP = None,
    max_tokens: agent_options.MaxTokens = None,
    sampling_seed: agent_options.SamplingSeed = None,
    extra: agent_options.Extra = None,
    price: agent_options.Price = None,
    call_timeout: agent_options.CallTimeout = CALL_TIMEOUT_S,
    episode_timeout: agent_options.EpisodeTimeout = None,
    attempts: agent_options.Attempts = ATTEMPTS_MAX,
    customer: agent_options.Customer = agent_options.SCRIPTED,
    customer_url: agent_options.CustomerUrl = None,
    customer_temperature: agent_options.CustomerTemperature = None,
    customer_price: agent_options.CustomerPrice = None,
    persona: agent_options.Persona = "patient",
    turns_max: agent_options.TurnsMax = TURNS_MAX,
    rounds_max: agent_options.RoundsMax = ROUNDS_MAX,
) -> None:
    """Run agents on a task or a suite, over seeds, and show what each episode earned, and why.

    Exits with 1 where an episode ended by an error of ours, or no episode could be judged.
    """
    parameters = parse_parameters(settings or [])
    chosen = parse_seeds(seeds)
    flags = agent_options.ModelFlags(
        base_url, protocol, stop_at_call, stream_replies, temperature, top_p, max_tokens,
        sampling_seed, extra or [], price, call_timeout, episode_timeout, attempts, customer,
        customer_url, customer_temperature, customer_price, persona, turns_max, rounds_max,
    )  # fmt: skip
    acting = [flags.agent(agent, os.environ) for agent in dict.fromkeys(agents or ["oracle"])]
    speaker = flags.speaker(agents or [], os.environ)
    if any(agent.name == HUMAN for agent in acting):
        if engine != "local":
            raise UsageError("a person plays at this terminal, and not on a Ray cluster")
        concurrency = jobs = 1  # there is one terminal
    specs = [
        EpisodeSpec(
            f"{suite.name}/{task.name}",
            agent.name,
            seed,
            rubric,
            parameters,
            trial,
            agent.options,
            flags.limits,
            speaker,
        )
        for agent in acting
        for suite, task in find_tasks([name])
        for seed in chosen
        for trial in range(trials)
    ]
    _check(specs, file, again=again)
    asked = {
        "name": name, "agents": [agent.name for agent in acting], "seeds": seeds, "trials": trials,
        "rubric": rubric, "parameters": parameters,
    }  # fmt: skip
    with keeping(database, name, asked) as kept:
        results = _run(
            [replace(spec, database=kept.server) for spec in specs],
            file,
            kept,
            force=force,
            again=again,
            start=_engine(engine, concurrency, jobs, ray_address),
            show=_print_submission if submission else None,
        )
    if as_json:
        run_id = {} if kept.evaluation is None else {"run": kept.evaluation}
        episodes = [_as_json(item) for item in results]
        print_json({"episodes": episodes, "mean": means(results), **run_id})
    elif not submission:
        _print(results)
        if kept.note:
            out.print(f"\n{escape(kept.note)}", soft_wrap=True)
    rewarded = any(item.status == "reward" for item in results)
    if not rewarded or any(item.status == "error" for item in results):
        raise typer.Exit(1)


def _engine(
    engine: Engine, concurrency: int, jobs: int | None, address: str | None
) -> Callable[[Sequence[EpisodeSpec]], Iterator[Finished]]:
    """What runs episodes."""
    if engine == "local":
        return lambda specs: stream(specs, concurrency=concurrency, jobs=jobs or 1)
    from deskgym.adapters import ray

    return lambda specs: ray.stream(specs, actors=jobs, concurrency=concurrency, address=address)


def _check(specs: list[EpisodeSpec], file: Path | None, *, again: bool) -> None:
    """Find what is wrong with the request before the first episode runs."""
    for spec in {(item.task, item.agent): item for item in specs}.values():
        suite = load_suite(spec.task.partition("/")[0])
        if spec.agent != HUMAN and not is_model(spec.agent):
            find_agent(suite, suite.task(spec.task), spec.agent)
        if spec.customer is not None and suite.speech is None:
            raise UsageError(
                f"{spec.task} has no customer to talk to; --customer is for suites that have one"
            )
        spec.environment()
    highest = max(spec.seed for spec in specs)
    if highest > SEED_MAX:
        raise UsageError(f"a seed is at most {SEED_MAX}, not {highest}")
    if again and file is None:
        raise UsageError("--again runs episodes of a file again; --out names it")


def _run(
    specs: list[EpisodeSpec],
    file: Path | None,
    kept: Keeping,
    *,
    force: bool,
    again: bool,
    start: Callable[[Sequence[EpisodeSpec]], Iterator[Finished]],
    show: Callable[[Finished], None] | None,
) -> list[EpisodeResult]:
    """Run what is not in the file yet, and return every result in the order of the specs."""
    plan = [spec.planned() for spec in specs]
    if len({item.key for item in plan}) < len(plan):
        raise UsageError("two of the agents have the same name; run them into two files")
    with ExitStack() as stack:
        results = None
        if file is not None:
            results = stack.enter_context(ResultsFile(file, plan, force=force))
        done = {} if results is None else dict(results.done)
        left = _left(specs, plan, done, again=again)
        if done and left:
            err.print(escape(f"{file} holds {len(done)} of {len(specs)} episodes"))
        earlier = [item for item in done.values() if not (again and item.status != "reward")]
        if kept.store is not None and results is not None:
            for recording in results.recordings({item.key for item in earlier}):
                kept.add(recording)  # so that the run that is kept is whole
        try:
            by_hand = any(spec.agent == HUMAN for spec in left)
            running = start(left)
            for finished in running if by_hand else watched(running, earlier, len(specs)):
                if results is not None:
                    results.append(finished.result, finished.line)
                if kept.store is not None and (recording := finished.episode().recording):
                    kept.add(recording)
                done[finished.result.key] = finished.result
                if show is not None:
                    show(finished)
        except KeyboardInterrupt:
            err.print(escape(f"stopped after {_kept(len(done), len(specs), file)}"))
            raise typer.Exit(130) from None
        except WorkerLost as error:
            err.print(
                f"[bold red]deskgym:[/] {escape(f'{error}; {_kept(len(done), len(specs), file)}')}"
            )
            raise typer.Exit(1) from error
        if results is not None:
            results.finish()
    return [done[item.key] for item in plan]


def _left(
    specs: Sequence[EpisodeSpec],
    plan: Sequence[Planned],
    done: dict[EpisodeKey, EpisodeResult],
    *,
    again: bool,
) -> list[EpisodeSpec]:
    """What is still to be run."""
    return [
        spec
        for spec, item in zip(specs, plan, strict=True)
        if item.key not in done or (again and done[item.key].status != "reward")
    ]


def _kept(done: int, total: int, file: Path | None) -> str:
    kept = "" if file is None else f"; {file} holds them, and the same command goes on"
    return f"{done} of {counted(total, 'episode')}{kept}"


def _print_submission(finished: Finished) -> None:
    """Print an episode's lines, and say aside where the format has no word for how it ended."""
    for line in submission_lines(finished.episode()):
        out.file.write(f"{line}\n")
    out.file.flush()
    result = finished.result
    if result.status != "reward":
        why = f"{result.termination}: {result.detail}"
        err.print(escape(f"{result.key} has no reward, it is {result.status} ({why})"))


def _print(results: list[EpisodeResult]) -> None:
    rows = table(
        "task", "agent", "seed", "reward", "actions", "ended",
        right=("seed", "reward", "actions"), whole=("task", "agent", "reward"),
    )  # fmt: skip
    for item in results[:ROWS_MAX]:
        rows.add_row(
            item.task,
            escape(item.agent),
            f"{item.seed}.{item.trial}" if item.trial else str(item.seed),
            item.status if item.reward is None else reward_text(item.reward),
            str(item.actions),
            "agent stopped" if item.termination == "agent_stopped" else item.termination,
        )
    out.print(rows)
    if len(results) > ROWS_MAX:
        out.print(f"… and {len(results) - ROWS_MAX} more; --json lists all.")
    _print_reasons(results)
    for mean in means(results):
        reward = "none" if mean["reward"] is None else f"{mean['reward']:.4f}"
        out.print(
            escape(
                f"\n{mean['agent']} by {mean['rubric']}: mean reward {reward} over "
                f"{counted(mean['episodes'], 'episode')}; {mean['invalid']} invalid, "
                f"{counted(mean['error'], 'error')}"
            )
        )


def _print_reasons(results: list[EpisodeResult]) -> None:
    """What kept each run from the full reward, below the table: a column would be too narrow."""
    short = [item for item in results if item.reasons or item.detail]
    for item in short[:REASONS_MAX]:
        head = f"\n{item.task} {item.agent} seed {item.seed}: "
        if item.reward is None:
            out.print(escape(f"{head}{item.status}, {item.termination.replace('_', ' ')}"))
        else:
            verdict = (item.verdict or "").replace("_", " ")
            out.print(escape(f"{head}{reward_text(item.reward)}, {verdict}"))
        for reason in [*item.reasons, *([item.detail] if item.detail else [])]:
            out.print(Padding(escape(reason), (0, 0, 0, 2)))
    if len(short) > REASONS_MAX:
        out.print(f"\n… and {len(short) - REASONS_MAX} more; --json explains each.")


def means(results: Sequence[EpisodeResult]) -> list[dict[str, Any]]:
    """The mean reward by agent and rubric: those of different versions are never averaged."""
    groups: dict[tuple[str, str], list[EpisodeResult]] = {}
    for item in results:
        groups.setdefault((item.agent, item.settings["rubric"]), []).append(item)
    found: list[dict[str, Any]] = []
    for (agent, version), group in groups.items():
        rewards = [item.reward for item in group if item.reward is not None]
        found.append(
            {
                "agent": agent,
                "rubric": version,
                "reward": sum(rewards) / len(rewards) if rewards else None,
                "episodes": len(rewards),
                "invalid": sum(item.status == "invalid" for item in group),
                "error": sum(item.status == "error" for item in group),
            }
        )
    return found


def _as_json(item: EpisodeResult) -> dict[str, Any]:
    shown = item.model_dump(exclude={"settings", "usage"})
    usage = None if item.usage is None else item.usage.model_dump(exclude={"latencies_s"})
    return {**shown, "rubric": item.settings["rubric"], "usage": usage}
