"""Many episodes: agents over tasks and seeds, what they earned, and how sure that is."""

from deskgym.evaluate.controls import ControlRun, SweepRun, run_controls, run_sweep
from deskgym.evaluate.episode import EpisodeSpec, run_episode, run_episodes
from deskgym.evaluate.result import Episode, EpisodeKey, EpisodeResult, InvalidResults, Usage
from deskgym.evaluate.results_file import ResultsFile, read_results
from deskgym.evaluate.stream import stream
from deskgym.evaluate.workers import WorkerLost

__all__ = [
    "ControlRun",
    "Episode",
    "EpisodeKey",
    "EpisodeResult",
    "EpisodeSpec",
    "InvalidResults",
    "ResultsFile",
    "SweepRun",
    "Usage",
    "WorkerLost",
    "read_results",
    "run_controls",
    "run_episode",
    "run_episodes",
    "run_sweep",
    "stream",
]
