"""Live episodes that survive their process: each action is stored before it is acknowledged."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from typing import TYPE_CHECKING, Final

from deskgym.desk import CustomerReply
from deskgym.environment import Environment
from deskgym.errors import (
    CustomerAsked,
    DatabaseDamaged,
    DatabaseUnavailable,
    DeskgymError,
    EpisodeClosed,
    InvalidParameter,
    StepConflict,
    UnknownEpisode,
    UnknownName,
    UsageError,
)
from deskgym.recording import Recording, parse, recording_of
from deskgym.rubric import Score
from deskgym.runstore.archive import comparable
from deskgym.runstore.chain import opening_chain, stored_step
from deskgym.runstore.log import Ending, Entry, EpisodeLog, EpisodeRow, Limits
from deskgym.runstore.memory import ID_PATTERN, Live, Memory, built
from deskgym.runstore.rebuild import (
    answered_again,
    canonical_json,
    ended_row,
    ending_of,
    environment_of,
)
from deskgym.runstore.request import Created, NewEpisode, NextStep
from deskgym.runstore.state import EpisodeState, state_of
from deskgym.store import WorldEngine
from deskgym.trajectory import Action, Observation

if TYPE_CHECKING:
    from deskgym.runstore.store import RunStore

_log = logging.getLogger(__name__)

ENVIRONMENTS_MAX: Final = 4_096
"""How many environments are kept in memory; further ones are rebuilt when they are next used."""

ATTEMPTS_MAX: Final = 100
"""How often a call tries again because another worker took the episode meanwhile."""

_OF_ONE_EPISODE: Final = (
    UnknownEpisode, EpisodeClosed, StepConflict, UnknownName, InvalidParameter, DatabaseDamaged
)  # fmt: skip
"""What concerns one episode of a batch, and leaves the others as they are."""


class Episodes:
    """Live episodes of one worker process, stored as they happen.

    `step` returns when the action is in the database. Another process that opens the same
    database can go on with any episode at once: it rebuilds it from its actions, checks that the
    same hash chain comes out, and owns it from then on; what the earlier owner still had under
    way is not stored. All methods may be called from several threads; they block for as long as
    the database takes, so an asyncio server calls them inline where the database is a SQLite
    file (a step takes tens of microseconds).

    Every method may raise `DatabaseUnavailable`, or `InvalidDatabase` where the database has
    become one that cannot serve; nothing was acknowledged then, and a step may be repeated with
    its number.
    """

    def __init__(
        self,
        store: RunStore,
        *,
        environments_max: int = ENVIRONMENTS_MAX,
        live_max: int | None = None,
        live_max_per_holder: int | None = None,
        record: bool = True,
        engine: WorldEngine | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`RunStore.episodes` is the shorter way.

        Args:
            store: where episodes are stored.
            environments_max: how many environments are kept in memory at once.
            live_max: how many episodes may be live in the whole database.
            live_max_per_holder: how many of one holder.
            record: whether `close` stores the episode's recording.
            engine: where worlds live; the store's own engine if None.
            clock: seconds since 1970.
        """
        self._store: Final = store
        self._log: Final = EpisodeLog(store.database, _worker())
        self._limits: Final = Limits(live_max, live_max_per_holder)
        self._record: Final = record
        self._engine: Final = engine or store.engine
        self._memory: Final = Memory(self._log, self._engine, environments_max)
        self._clock: Final = clock

    @property
    def worker(self) -> str:
        """The token by which this process owns episodes."""
        return self._log.worker

    def create(
        self,
        task: str,
        seed: int = 0,
        *,
        parameters: Mapping[str, object] | None = None,
        rubric: str | None = None,
        id: str | None = None,
        agent: str = "agent",
        holder: str | None = None,
        with_token: bool = False,
    ) -> Created:
        """Start an episode; it is stored when this returns. The arguments are `NewEpisode`'s.

        Raises:
            UnknownName: there is no such suite, task or rubric.
            InvalidParameter: a parameter or the seed is unknown or out of its limits.
            UsageError: the id is malformed, or taken by another episode.
            TooManyEpisodes: more would be live than the limits allow.
        """
        new = NewEpisode(
            task, seed, parameters or {}, rubric, id, agent, holder, with_token=with_token
        )
        return self.create_many([new])[0]

    def create_many(self, episodes: Sequence[NewEpisode]) -> list[Created]:
        """Start episodes in one transaction: all are stored, or none.

        Raises:
            UsageError: as `create`; nothing was stored.
        """
        made = [self._make(new) for new in episodes]
        ids = [str(item.values["id"]) for item in made]
        if len(set(ids)) != len(ids):
            raise UsageError("two of the new episodes have the same id")
        added = self._log.create([item.values for item in made], self._limits) if made else []
        return [
            self._keep(item) if is_added else self._again(item)
            for item, is_added in zip(made, added, strict=True)
        ]

    def step(
        self,
        id: str,
        action: Action,
        number: int | None = None,
        *,
        reply: CustomerReply | None = None,
    ) -> Observation:
        """Take one action; it is stored, with its reply, when this returns.

        Args:
            id: the episode.
            action: whatever the agent sent; see `Environment.step`.
            number: the step's number, from 1. A number that was taken by the same action is
                answered with its observation, and nothing is done again: the reply that was
                stored stands, whatever comes with the repetition. None takes the next one.
            reply: what a customer who is no script says to it; see `question`.

        Raises:
            StepConflict: another action has that number, or it leaves a gap.
            EpisodeClosed: the episode was closed, or expired.
            UnknownEpisode: there is no such episode.
            UsageError: the reply cannot be recorded.
        """
        asked = NextStep(id, action, number, None if reply is None else reply.checked())
        for _ in range(ATTEMPTS_MAX):
            with self._memory.held(id, own=True) as live:
                answer = self._answer(live, action, number)
                if answer is not None:
                    return answer
                observation, entry = self._take(live, asked)
                if self._append([(live, entry)])[0]:
                    return observation
        raise _contested(id)

    def step_many(self, steps: Sequence[NextStep]) -> list[Observation | DeskgymError]:
        """Take actions of many episodes, and store each round of them in one transaction.

        The answers are in the order of `steps`; one that `step` would raise an error for is that
        error, and disturbs no other. Several steps of one episode are taken in their order.

        Raises:
            DatabaseUnavailable: the database cannot serve now. Some steps may be stored; repeat
                them with their numbers.
            UsageError: a reply cannot be recorded; no step was taken.
        """
        for asked in steps:
            if asked.reply is not None:
                asked.reply.checked()
        answers: list[Observation | DeskgymError | None] = [None] * len(steps)
        waiting = list(range(len(steps)))
        while waiting:
            seen: set[str] = set()
            now: list[int] = []
            later: list[int] = []
            for place in waiting:
                (later if steps[place].id in seen else now).append(place)
                seen.add(steps[place].id)
            self._step_round(steps, now, answers)
            waiting = later
        done = [answer for answer in answers if answer is not None]
        assert len(done) == len(steps), "every step has an answer"
        return done

    def observe(self, id: str) -> Observation:
        """The latest observation again; it takes no action. Raises `UnknownEpisode`."""
        with self.environment(id) as environment:
            return environment.observe()

    def question(self, id: str, action: Action) -> CustomerAsked | None:
        """What an action would put to the customer, or None; the episode stays as it is.

        Whoever speaks for the customer answers it, and the answer goes into `step` as its reply.
        Raises `UnknownEpisode`.
        """
        with self.environment(id) as environment:
            return environment.question(action)

    def score(self, id: str, rubric: str | None = None) -> Score:
        """What the episode has earned so far: the trainer's, and never an agent's.

        Raises:
            UnknownEpisode: there is no such episode.
            UnknownName: its suite has no such rubric.
        """
        with self.environment(id) as environment:
            return environment.score(rubric)

    def state(self, id: str) -> EpisodeState:
        """An episode's row: what it is, how far it came, its reward once it is no longer live.

        Raises:
            UnknownEpisode: there is no such episode.
        """
        row, standing = self._memory.row(id), self._log.standing(id)
        return state_of(row, 0 if standing is None else standing[1])

    @contextmanager
    def environment(self, id: str) -> Generator[Environment]:
        """The episode's environment as it is stored now, to read from: never step or reset it.

        It is locked for this block, and may be another object in the next one.

        Raises:
            UnknownEpisode: there is no such episode.
        """
        with self._memory.held(id, own=False) as live:
            self._memory.refresh(id, live)
            assert live.environment is not None, "a held episode is built"
            yield live.environment

    def close(self, id: str) -> EpisodeState:
        """End an episode, if it is live, and drop it from memory.

        Its score and, unless `record` is off, its recording are stored. Closing again changes
        nothing.

        Raises:
            UnknownEpisode: there is no such episode.
        """
        return self._close(id, "closed")

    def close_many(self, ids: Sequence[str]) -> list[EpisodeState | DeskgymError]:
        """End episodes as `close` does, all those that are live in one transaction.

        The answers are in the order of `ids`; one that `close` would raise an error for is that
        error, and disturbs no other. Recordings are stored after the transaction, one by one.
        """
        answers: dict[str, EpisodeState | DeskgymError] = {}
        for id in self._close_round(set(ids), answers):
            try:
                answers[id] = self._close(id, "closed")
            except _OF_ONE_EPISODE as error:
                answers[id] = error
        return [answers[id] for id in ids]

    def expire(self, idle_s: float, *, limit: int = 1_000) -> list[str]:
        """Close live episodes, whoever owns them, that took no action for so long; their ids.

        One that does not come out again as it was stored is logged, and stays as it is.
        """
        before_ms = self._now_ms() - round(idle_s * 1_000)
        expired: list[str] = []
        for id in self._store.idle_episodes(before_ms, limit):
            try:
                state = self._close(id, "expired", idle_before_ms=before_ms)
            except _OF_ONE_EPISODE as error:
                _log.warning("the idle episode %s cannot be closed: %s", id, error)
                continue
            if state.status == "expired":
                expired.append(id)
        return expired

    def recording(self, id: str) -> Recording:
        """The episode's recording, with the score after each step.

        That of a live episode shows it as it is now and is not kept; any other is stored.

        Raises:
            UnknownEpisode: there is no such episode.
            DatabaseDamaged: the episode does not come out again as it was stored.
        """
        row = self._memory.row(id)
        document = self._store.recordings.of_episode(id)
        if document is not None:
            return parse(document, f"the recording of {id}")
        return self._recorded(row)

    def issue_token(self, id: str) -> str:
        """A new token for the episode's agent; an earlier one is no longer valid.

        It is returned this once: the database holds its hash.

        Raises:
            UnknownEpisode: there is no such episode.
        """
        token = secrets.token_urlsafe(32)
        self._log.set_token(self._memory.row(id).id, _hashed(token))
        return token

    def verify_token(self, id: str, token: str) -> bool:
        """Whether a token is the episode's; in constant time, and False for an unknown one."""
        row = self._log.read(id) if ID_PATTERN.fullmatch(id) else None
        known = (row.token_hash if row is not None else None) or ""
        return compare_digest(known.encode(), _hashed(token).encode())

    def count_live(self, holder: str | None = None) -> int:
        """How many episodes are live in the database, in all or of one holder."""
        return self._log.count_live(comparable(holder))

    def in_memory(self) -> int:
        """How many environments this process holds."""
        return len(self._memory)

    def shut(self) -> None:
        """Drop every environment from memory; the episodes stay as they are stored."""
        self._memory.clear()

    def __enter__(self) -> Episodes:
        return self

    def __exit__(self, *_: object) -> None:
        self.shut()

    # Creating.

    def _make(self, new: NewEpisode) -> _Made:
        id = _new_id(self._now_ms()) if new.id is None else new.id
        if not ID_PATTERN.fullmatch(id):
            raise UsageError(
                "an episode's id is 1 to 64 letters, digits, dots, underscores and hyphens, "
                f"not {id!r}"
            )
        environment = environment_of(new.task, new.parameters, new.rubric, self._engine)
        observation = environment.reset(new.seed)
        token = secrets.token_urlsafe(32) if new.with_token else None
        values: dict[str, object] = {
            "id": id,
            "suite": environment.suite.name,
            "task": environment.task.name,
            "seed": new.seed,
            "parameters": canonical_json(dict(environment.parameters)),
            "rubric": environment.rubric.version,
            "agent": comparable(new.agent),
            "holder": comparable(new.holder),
            "token_hash": None if token is None else _hashed(token),
            "status": "live",
            "owner": self.worker,
            "chain": opening_chain(environment),
            "version": self._store.version,
            "created_ms": self._now_ms(),
        }
        return _Made(environment, observation, values, token)

    def _keep(self, made: _Made) -> Created:
        row = _row_of(made.values)
        self._memory.keep(made.environment, row)
        return Created(row.id, made.observation, made.token)

    def _again(self, made: _Made) -> Created:
        """The answer to a creation whose id is there: the same episode, if it is the same."""
        asked = _row_of(made.values)
        found = self._log.read(asked.id)
        if found is None:
            raise _contested(asked.id)
        same = ("suite", "task", "seed", "parameters", "rubric", "holder")
        if any(getattr(found, name) != getattr(asked, name) for name in same):
            raise UsageError(
                f"the episode {asked.id} is there already, and is another one; name a new id"
            )
        token = None if made.token is None else self.issue_token(asked.id)
        return Created(asked.id, made.observation, token)

    # Stepping.

    def _answer(self, live: Live, action: Action, number: int | None) -> Observation | None:
        """The answer to a step that has to be taken no more; None for one to take now."""
        environment, row = built(live)
        if number is not None:
            if number > len(environment.steps) + 1:
                self._memory.refresh(row.id, live)
                environment, row = built(live)
            expected = len(environment.steps) + 1
            if not 1 <= number <= expected:
                raise StepConflict(
                    f"the next step of {row.id} is {expected}, not {number}", expected
                )
            if number < expected:
                return answered_again(environment, row.id, action, number)
        if row.status in ("closed", "expired"):
            raise EpisodeClosed(
                f"the episode {row.id} was closed"
                if row.status == "closed"
                else f"the episode {row.id} stood idle for too long and was closed"
            )
        # After the end nothing is taken and nothing stored: the answer is `episode_over`.
        return environment.step(action) if environment.done else None

    def _take(self, live: Live, asked: NextStep) -> tuple[Observation, Entry]:
        """Take an action in memory. Until it is stored, the environment is ahead."""
        environment, row = built(live)
        try:
            observation = environment.step(asked.action, asked.reply)
            step = stored_step(environment.steps[-1], live.chain)
            ending = ending_of(environment, "ended") if environment.done else None
        except BaseException:
            self._memory.forget(row.id, live)
            raise
        return observation, Entry(row.id, step, ending)

    def _append(self, taken: Sequence[tuple[Live, Entry]]) -> list[bool]:
        """Store what was taken. An environment whose step is not stored is dropped: it is ahead."""
        stored = [False] * len(taken)
        now_ms = self._now_ms()
        try:
            stored = self._log.append([entry for _, entry in taken], now_ms)
        finally:
            for (live, entry), is_stored in zip(taken, stored, strict=True):
                if not is_stored:
                    self._memory.forget(entry.episode, live)
                    continue
                live.chain = entry.step.chain
                if entry.ending is not None and live.row is not None:
                    live.row = ended_row(live.row, entry.ending, now_ms)
        return stored

    def _step_round(
        self,
        steps: Sequence[NextStep],
        places: Sequence[int],
        answers: list[Observation | DeskgymError | None],
    ) -> None:
        """Take one step each of different episodes, store them together, and answer."""
        taken: list[tuple[Live, Entry]] = []
        observations: list[tuple[int, Observation]] = []
        with ExitStack() as stack:
            try:
                # Everybody locks episodes in the same order, so that nobody waits in a circle.
                for place in sorted(places, key=lambda place: steps[place].id):
                    asked = steps[place]
                    try:
                        live = stack.enter_context(self._memory.held(asked.id, own=True))
                        answers[place] = self._answer(live, asked.action, asked.number)
                    except _OF_ONE_EPISODE as error:
                        answers[place] = error
                        continue
                    if answers[place] is None:
                        observation, entry = self._take(live, asked)
                        taken.append((live, entry))
                        observations.append((place, observation))
            except BaseException:
                for live, entry in taken:
                    self._memory.forget(entry.episode, live)
                raise
            stored = self._append(taken) if taken else []
        for (place, observation), is_stored in zip(observations, stored, strict=True):
            if is_stored:
                answers[place] = observation
                continue
            asked = steps[place]
            try:
                answers[place] = self.step(asked.id, asked.action, asked.number, reply=asked.reply)
            except _OF_ONE_EPISODE as error:
                answers[place] = error

    # Ending.

    def _close(self, id: str, status: str, *, idle_before_ms: int | None = None) -> EpisodeState:
        for _ in range(ATTEMPTS_MAX):
            with self._memory.held(id, own=True) as live:
                environment, row = built(live)
                if idle_before_ms is not None and not self._store.idle_episodes(
                    idle_before_ms, 1, id=id
                ):
                    return self.state(id)
                finished = True
                if row.status == "live":
                    ending, now_ms = ending_of(environment, status), self._now_ms()
                    finished = self._log.finish([(id, ending)], now_ms)[0]
                    row = ended_row(row, ending, now_ms)
                self._memory.forget(id, live)
            if finished:
                return self._closed(row)
        raise _contested(id)

    def _close_round(
        self, ids: Collection[str], answers: dict[str, EpisodeState | DeskgymError]
    ) -> list[str]:
        """Close what this worker owns, and answer; returns those that have to be closed alone."""
        now_ms = self._now_ms()
        rows: dict[str, EpisodeRow] = {}
        endings: dict[str, Ending] = {}
        with ExitStack() as stack:
            # Everybody locks episodes in the same order, so that nobody waits in a circle.
            for id in sorted(ids):
                try:
                    live = stack.enter_context(self._memory.held(id, own=True))
                except _OF_ONE_EPISODE as error:
                    answers[id] = error
                    continue
                environment, row = built(live)
                stack.callback(self._memory.forget, id, live)
                if row.status == "live":
                    endings[id] = ending_of(environment, "closed")
                    row = ended_row(row, endings[id], now_ms)
                rows[id] = row
            finished = self._log.finish(list(endings.items()), now_ms)
        lost = [id for id, done in zip(endings, finished, strict=True) if not done]
        for id in rows.keys() - set(lost):
            try:
                answers[id] = self._closed(rows[id])
            except _OF_ONE_EPISODE as error:
                answers[id] = error
        return lost

    def _closed(self, row: EpisodeRow) -> EpisodeState:
        """The state of an episode that is no longer live, whose recording is stored if it is."""
        if self._record and not self._store.recordings.has_episode(row.id):
            self._recorded(self._memory.row(row.id))
        return state_of(row, row.steps or 0)

    def _recorded(self, row: EpisodeRow) -> Recording:
        """An episode's recording, from its actions; stored, unless the episode is live."""
        scores: list[Score] = []
        environment, _ = self._memory.rebuilt(row, lambda played: scores.append(played.score()))
        with environment:
            recording = recording_of(environment, agent=row.agent, step_scores=scores)
        if row.status != "live":
            self._store.recordings.save_episode(recording, row.id)
        return recording

    def _now_ms(self) -> int:
        return round(self._clock() * 1_000)


@dataclass(frozen=True)
class _Made:
    """An episode that was made and is not stored yet."""

    environment: Environment
    observation: Observation
    values: dict[str, object]
    token: str | None


def _worker() -> str:
    """A token that no other process has, and that says where it runs."""
    return f"{socket.gethostname()[:24]}-{os.getpid()}-{secrets.token_hex(8)}"


def _new_id(now_ms: int) -> str:
    """An id that nobody can guess, and that sorts by time."""
    return f"{now_ms:012x}{secrets.token_hex(10)}"


def _hashed(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _row_of(values: Mapping[str, object]) -> EpisodeRow:
    return EpisodeRow(**{name: values.get(name) for name in EpisodeRow._fields})  # type: ignore[arg-type]


def _contested(id: str) -> DatabaseUnavailable:
    return DatabaseUnavailable(f"other processes keep taking the episode {id}; try again")
