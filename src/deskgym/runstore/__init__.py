"""The run store: episodes, their actions as they happen, recordings and evaluation runs.

It is a SQLite file, or a PostgreSQL server with a URL. Whoever imports this loads SQLAlchemy;
`import deskgym` does not.
"""

from deskgym.runstore.address import VARIABLE, chosen_url, data_directory, default_file
from deskgym.runstore.archive import RecordingFilter, Recordings, RecordingSummary
from deskgym.runstore.episodes import Episodes
from deskgym.runstore.evaluation import Evaluation, Evaluations
from deskgym.runstore.listing import EpisodeFilter
from deskgym.runstore.page import Page
from deskgym.runstore.request import Created, NewEpisode, NextStep
from deskgym.runstore.state import EpisodeState
from deskgym.runstore.store import RunStore, open_run_store

__all__ = [
    "VARIABLE",
    "Created",
    "EpisodeFilter",
    "EpisodeState",
    "Episodes",
    "Evaluation",
    "Evaluations",
    "NewEpisode",
    "NextStep",
    "Page",
    "RecordingFilter",
    "RecordingSummary",
    "Recordings",
    "RunStore",
    "chosen_url",
    "data_directory",
    "default_file",
    "open_run_store",
]
