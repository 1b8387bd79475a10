"""`--database`: where a run's worlds live, and where its recordings are kept.

The run store loads SQLAlchemy, so that it is imported only where a database is named.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from deskgym.errors import UnknownName, UsageError
from deskgym.recording import Located, Recording
from deskgym.store import WorldEngine, default_engine, open_engine

if TYPE_CHECKING:
    from deskgym.runstore import RunStore

VARIABLE: Final = "DESKGYM_DATABASE_URL"
_URLS: Final = (
    "sqlite:///FILE, postgresql://USER@HOST/NAME, embedded (a private PostgreSQL server) or "
    "default (a SQLite file in your data directory)"
)
DatabaseUrl = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        envvar=VARIABLE,
        help=f"Keep runs there, and worlds if it is PostgreSQL: {_URLS}. Nothing is kept without.",
    ),
]
Worlds = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        envvar=VARIABLE,
        help="Worlds live there if it is PostgreSQL: postgresql://USER@HOST/NAME, or embedded "
        "for a private server; in memory otherwise.",
    ),
]
Place = Annotated[
    str | None,
    typer.Option(
        "--database", metavar="URL", envvar=VARIABLE, help=f"{_URLS}; default if nothing is said."
    ),
]


@contextmanager
def worlds_in(url: str | None) -> Generator[WorldEngine | None]:
    """The engine of a database, if its worlds live there; None where they live in memory."""
    server = server_of(url)
    if server is None:
        yield None
        return
    engine = open_engine(server)
    try:
        yield engine
    finally:
        engine.close()


def server_of(url: str | None) -> str | None:
    """The URL of the server where worlds live; None for memory. Starts a private server."""
    if url is None:
        return None
    from deskgym.runstore.address import parse_url, plain_url

    parsed = parse_url(url)
    return plain_url(parsed) if parsed.get_backend_name() == "postgresql" else None


@dataclass(frozen=True)
class Keeping:
    """Where the recordings of a run go, if anywhere.

    Attributes:
        server: the URL of the server where worlds live; None for memory.
        store: the open run store; None where nothing is kept.
        evaluation: the id of the evaluation run.
    """

    server: str | None = None
    store: RunStore | None = None
    evaluation: str | None = None

    def add(self, recording: Recording) -> None:
        """Save a recording of the run."""
        if self.store is not None:
            self.store.recordings.save(recording, evaluation=self.evaluation)

    @property
    def note(self) -> str:
        """What a person is told at the end; empty where nothing is kept."""
        if self.store is None:
            return ""
        return f"kept as {self.evaluation} in {self.store.database.where}"


@contextmanager
def keeping(url: str | None, name: str, spec: Mapping[str, Any]) -> Generator[Keeping]:
    """Keep a run in a database: the evaluation run as it starts and ends, recordings as they come.

    Args:
        url: the database; nothing is kept if None.
        name: what a person calls the run.
        spec: what was asked for.
    """
    if url is None:
        yield Keeping()
        return
    from deskgym.runstore import open_run_store

    server = server_of(url)
    with open_run_store(server or url, engine=default_engine()) as store:
        evaluation = store.evaluations.start(name, spec)
        try:
            yield Keeping(server, store, evaluation)
        except BaseException:
            store.evaluations.end(evaluation, status="interrupted")
            raise
        store.evaluations.end(evaluation)


def kept_recordings(url: str, id: str) -> Iterator[Located]:
    """What a database keeps by an id: a recording, an episode's, or all of an evaluation run.

    Raises:
        UsageError: there is no file of that name and nothing kept by that id.
    """
    from deskgym.runstore import RecordingFilter, open_run_store

    with open_run_store(url, engine=default_engine()) as store:
        for which in (RecordingFilter(episode=id), RecordingFilter(evaluation=id)):
            if store.recordings.count(which):
                for item, recording in store.recordings.each(which):
                    yield Located(item, recording)
                return
        try:
            yield Located(id, store.recordings.get(id))
        except UnknownName:
            raise UsageError(
                f"there is no file {id}, and {store.database.where} keeps no recording, episode "
                "or run of that id; deskgym database list names them"
            ) from None
