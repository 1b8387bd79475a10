"""Where an episode can go on from: any run of the app, or an episode of the workbench."""

from __future__ import annotations

from dataclasses import dataclass

from deskgym.recording import Recording
from deskgym.serve.problem import Problem
from deskgym.web.found import find_run
from deskgym.web.site import Visit
from deskgym.web.workbench import desk


@dataclass(frozen=True)
class Source:
    """A recording to go on from.

    Attributes:
        reference: its name: its page's path without the first slash.
        recording: the recording.
    """

    reference: str
    recording: Recording

    @property
    def settings(self) -> dict[str, str]:
        """What it was started with, as the start page's query has it."""
        header = self.recording.header
        suite, _, task = header.task.partition("/")
        numbers = {name: str(value) for name, value in header.parameters.items()}
        return {**numbers, "suite": suite, "task": task, "seed": str(header.seed),
                "rubric": header.rubric}  # fmt: skip

    @property
    def usual_steps(self) -> int:
        """How many of its actions are usually taken again: all but one that ended the episode."""
        steps = self.recording.steps
        return len(steps) - 1 if steps and steps[-1].ended is not None else len(steps)


async def source_of(visit: Visit, reference: str) -> Source:
    """What a name names: that of a run, or `workbench/EPISODE`.

    Raises:
        UnknownName: there is no such run.
        UnknownEpisode: there is no such episode.
        Problem: it is no name, or that of an episode that is taken blind.
    """
    match reference.split("/"):
        case ["workbench" | "blind", id, *_]:
            episodes = visit.service.episodes
            if desk.is_hidden(await visit.run(episodes.state, id)):
                raise Problem(
                    "bad_request", "nobody goes on from an episode that is still taken blind"
                )
            return Source(reference, await visit.run(episodes.recording, id))
        case _:
            return Source(reference, (await find_run(visit, reference)).recording)
