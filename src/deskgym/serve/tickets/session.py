"""Sessions: a name that a client keeps while it plays one episode after another.

The first episode of a session has the session's id, and the next ones that id with a number after
a dot. So a session is found again from the run store alone, by any worker and after a restart.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from deskgym.errors import TooManyEpisodes, UnknownEpisode, UnknownName, UsageError
from deskgym.runstore import Created, EpisodeState
from deskgym.runstore.episodes import Episodes
from deskgym.serve.problem import Problem

SESSION_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,47}")
SESSIONS_REMEMBERED: Final = 10_000
ATTEMPTS_MAX: Final = 100
SUITE: Final = "tickets"


class Opened(NamedTuple):
    """A session and the episode that it plays now."""

    session: str
    episode: str


class Sessions:
    """The sessions of one worker process. Its methods use the database."""

    def __init__(self, episodes: Episodes) -> None:
        self._episodes: Final = episodes
        self._numbers: Final[OrderedDict[str, int]] = OrderedDict()

    def current(self, session: str, holder: str | None) -> EpisodeState:
        """The episode that a session plays now; raises `UnknownEpisode`."""
        state = self._latest(session) if SESSION_PATTERN.fullmatch(session) else None
        if state is None or state.holder != holder or not state.task.startswith(f"{SUITE}/"):
            raise UnknownEpisode(f"there is no session {session[:80]!r}; POST /reset starts one")
        return state

    def open(
        self, session: str | None, holder: str | None, create: Callable[[str | None], Created]
    ) -> Opened:
        """Start an episode in a new session, or the next one in a session that is there.

        Args:
            session: the session's id; drawn if None.
            holder: whose it is.
            create: starts an episode with an id.

        Raises:
            Problem: the session is somebody else's.
            UsageError: what `create` raises.
        """
        if session is None:
            made = create(None)
            self._remember(made.id, 1)
            return Opened(made.id, made.id)
        for _ in range(ATTEMPTS_MAX):
            latest = self._latest(session)
            if latest is not None:
                if latest.holder != holder or not latest.task.startswith(f"{SUITE}/"):
                    raise Problem("episode_exists", f"the session {session} is taken")
                self._episodes.close(latest.id)
            number = self._numbers.get(session, 0) + 1
            try:
                made = create(_episode(session, number))
            except (UnknownName, TooManyEpisodes):
                raise
            except UsageError:
                if self._state(_episode(session, number)) is None:
                    raise
                continue  # another request has started the next episode meanwhile
            self._remember(session, number)
            return Opened(session, made.id)
        raise Problem("episode_exists", f"the session {session} is started by others all the time")

    def _latest(self, session: str) -> EpisodeState | None:
        """The state of a session's last episode, or None; other workers may have added some."""
        number = self._numbers.get(session, 0)
        state = self._state(_episode(session, number)) if number else None
        while (following := self._state(_episode(session, number + 1))) is not None:
            number, state = number + 1, following
        if number:
            self._remember(session, number)
        return state

    def _state(self, episode: str) -> EpisodeState | None:
        try:
            return self._episodes.state(episode)
        except UnknownEpisode:
            return None

    def _remember(self, session: str, number: int) -> None:
        self._numbers[session] = number
        self._numbers.move_to_end(session)
        while len(self._numbers) > SESSIONS_REMEMBERED:
            self._numbers.popitem(last=False)


def _episode(session: str, number: int) -> str:
    return session if number == 1 else f"{session}.{number}"
