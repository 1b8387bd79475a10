"""The web app: the 95th percentile of each kind of page, with 10,000 recordings in the run store.

Every page is asked for over one kept connection on loopback, in turns with an empty page of the
same server, so that other load disturbs all alike. A page is asked for before it is measured, as
somebody who works with it has: what the server works out once is there.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import httpx

from benchmarks.measure import Figure
from deskgym.evaluate import EpisodeSpec, run_episodes
from deskgym.recording import Recording, read, shipped
from deskgym.runstore import RecordingFilter, RunStore, open_run_store
from deskgym.runstore.tables import broken_checks, documents, recordings
from deskgym.store import default_engine
from deskgym.suite import load_suite

RECORDINGS: Final = 10_000
EVALUATED: Final = 1_000
"""How many of them belong to one evaluation run."""
ROUNDS: Final = 60
BOUND_MS: Final = 100
TASK: Final = "service/two-full-captures"


class Filled(NamedTuple):
    """What a run store was filled with: where it is, and what its pages are found by."""

    database: str
    evaluation: str
    recording: str
    other: str
    broken: str


Page = Callable[[Filled, httpx.Client], str]
"""The path of a page; it may make what the page shows."""

PAGES: Final[dict[str, Page]] = {
    "the first page": lambda filled, client: "/",
    "a board": lambda filled, client: "/board/service",
    "a scripted run at a step": lambda filled, client: f"/board/{TASK}/refund-first?step=2",
    "the workbench's first page": lambda filled, client: "/workbench",
    "an episode in the workbench": lambda filled, client: f"/workbench/{_episode(client)}",
    "recordings": lambda filled, client: "/recordings?from=own",
    "recordings, a deep page": lambda filled, client: _deep(client),
    "recordings, by reward": lambda filled, client: "/recordings?from=own&sort=lowest",
    "recordings by a broken check": lambda filled, client: (
        f"/recordings?from=own&broken={filled.broken}"
    ),
    "recordings by task, agent and reward": lambda filled, client: (
        "/recordings?from=own&task=backoffice/late-return&agent=agent-3&reward_max=0.5"
    ),
    "recordings, uploaded": lambda filled, client: "/recordings?from=uploaded",
    "recordings, shipped": lambda filled, client: "/recordings?from=shipped",
    "a recording at a step": lambda filled, client: f"/recordings/{filled.recording}?step=3",
    "a comparison": lambda filled, client: (
        f"/compare?a=recordings/{filled.recording}&b=recordings/{filled.other}"
    ),
    "what to compare with": lambda filled, client: f"/compare?a=recordings/{filled.recording}",
    "evaluation runs": lambda filled, client: "/evaluations",
    "an evaluation run": lambda filled, client: f"/evaluations/{filled.evaluation}",
    "a document": lambda filled, client: "/docs/concepts",
}
"""The kinds of page; one that this server does not have yet is said to be missing."""


def _episode(client: httpx.Client) -> str:
    made = client.post("/api/episodes", json={"task": TASK, "agent": "human"})
    id = made.raise_for_status().json()["id"]
    action = {"tool": "get_order", "arguments": {"order_id": "S-410"}}
    client.post(f"/api/episodes/{id}/steps", json={"action": action}).raise_for_status()
    return id


def _deep(client: httpx.Client) -> str:
    token = None
    for _ in range(9):
        asked: dict[str, Any] = {"limit": 1_000, "origin": "own"}
        answer = client.get("/api/recordings", params=asked | ({"page": token} if token else {}))
        token = answer.raise_for_status().json()["next"]
    return f"/recordings?from=own&page={token}"


def fill(url: str) -> Filled:
    """A run store with many recordings: some real ones, saved again and again."""
    real = [item.recording for item in read(shipped("backoffice"))]
    specs = [
        EpisodeSpec(f"{suite}/{task.name}", agent, seed)
        for suite in ("service", "tickets")
        for task in load_suite(suite).tasks
        for agent in ("oracle", "null")
        for seed in (0, 1)
    ]
    real += list(run_episodes(specs))
    with open_run_store(url, engine=default_engine()) as store:
        evaluation = store.evaluations.start("benchmark", {"tasks": ["service"]})
        _save(store, real, evaluation)
        store.evaluations.end(evaluation)
        names = store.recordings.broken()
        counts = {name: store.recordings.count(RecordingFilter(broken=name)) for name in names}
        task = RecordingFilter(task="backoffice/late-return", seed=1)
        found = store.recordings.list(task, limit=2).items
        most = max(counts, key=counts.__getitem__)
        return Filled(url, evaluation, found[0].id, found[1].id, most)


def _save(store: RunStore, real: list[Recording], evaluation: str) -> None:
    """Rows are copied, so that a store of this size is there within seconds."""
    ids = store.recordings.save_many(real)
    with store.database.begin() as connection:
        rows = [dict(row) for row in connection.execute(recordings.select()).mappings()]
        texts = dict(map(tuple, connection.execute(documents.select())))
        broken: dict[str, list[str]] = {id: [] for id in ids}
        for id, name in connection.execute(broken_checks.select()):
            broken[id].append(name)
        draw = Random(0)
        for start in range(0, RECORDINGS, 1_000):
            numbers = range(start, start + 1_000)
            made = [_copy(rows[n % len(rows)], n, draw, evaluation) for n in numbers]
            connection.execute(recordings.insert(), made)
            origins = [rows[n % len(rows)]["id"] for n in numbers]
            pairs = list(zip(made, origins, strict=True))
            connection.execute(
                documents.insert(),
                [{"recording": row["id"], "document": texts[origin]} for row, origin in pairs],
            )
            connection.execute(
                broken_checks.insert(),
                [
                    {"recording": row["id"], "name": name}
                    for row, origin in pairs
                    for name in broken[origin]
                ],
            )


def _copy(row: dict[str, Any], number: int, draw: Random, evaluation: str) -> dict[str, Any]:
    return row | {
        "id": f"copy-{number:06}",
        "created_ms": row["created_ms"] + number,
        "agent": f"agent-{draw.randrange(12)}",
        "evaluation": evaluation if number < EVALUATED else None,
        "origin": "uploaded" if number % 10 == 0 else "own",
        "hash": f"{number:064}",
    }


@contextmanager
def serving(database: str) -> Generator[str]:
    """The server with an empty page; its URL."""
    command = [sys.executable, "-m", "benchmarks.web", database]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=60)


def main(database: str) -> None:
    """Serve the app with an empty page: what the measured process runs."""
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    from deskgym.serve import run
    from deskgym.serve.app import create_app
    from deskgym.serve.settings import Settings

    settings = Settings(database=database, port=0)

    async def empty(_: Any) -> HTMLResponse:
        return HTMLResponse("<!doctype html>")

    def made(settings: Settings) -> Any:
        app: Any = create_app(settings)
        app.app.router.routes.insert(0, Route("/empty", empty))
        return app

    run.create_app = made
    run.serve(settings, log_level="warning", started=lambda url: print(url, flush=True))


def figures() -> Iterator[Figure]:
    """Milliseconds of each kind of page, at the 95th percentile."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        filled = fill(f"sqlite:///{Path(folder)}/runs.db")
        yield Figure(f"{RECORDINGS:,} recordings are there", f"{time.perf_counter() - start:.1f} s")
        with serving(filled.database) as url, httpx.Client(base_url=url, timeout=120) as client:
            yield from _measured(filled, client)


def _measured(filled: Filled, client: httpx.Client) -> Iterator[Figure]:
    paths: dict[str, str] = {}
    for name, page in PAGES.items():
        path = page(filled, client)
        start = time.perf_counter()
        answer = client.get(path, headers={"Accept": "text/html"})
        if answer.status_code == 404:
            yield Figure(f"{name}", "is missing")
            continue
        answer.raise_for_status()
        paths[name] = path
        first_ms = (time.perf_counter() - start) * 1e3
        if first_ms > BOUND_MS:
            yield Figure(f"{name}, when it is first worked out", f"{first_ms:,.0f} ms")
    taken: dict[str, list[float]] = {name: [] for name in ("an empty page", *paths)}
    for _ in range(ROUNDS):
        for name, path in {"an empty page": "/empty", **paths}.items():
            start = time.perf_counter()
            client.get(path).raise_for_status()
            taken[name].append((time.perf_counter() - start) * 1e3)
    empty_ms = _percentile(taken["an empty page"])
    for name, each in taken.items():
        value = _percentile(each)
        bound = "" if name == "an empty page" else f"{BOUND_MS} ms"
        ratio = f"{value / empty_ms:,.0f} x" if bound else ""
        yield Figure(f"{name}, 95% within", f"{value:.1f} ms {ratio:>7}", bound)


def _percentile(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


if __name__ == "__main__":
    main(sys.argv[1])
