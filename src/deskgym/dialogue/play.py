"""Play a dialogue: the one loop that every agent goes through, a script's too."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final, Protocol, runtime_checkable

from deskgym.agents.player import Agent, AgentBriefing, AgentTurn, Player, Seen
from deskgym.agents.scripted import ScriptedAgent
from deskgym.customers.voice import Customer, CustomerBriefing, Spoken, Voice
from deskgym.desk import CustomerReply
from deskgym.dialogue.episode import PlayedEpisode, Termination, run_facts
from deskgym.dialogue.limits import Limits
from deskgym.environment import Environment
from deskgym.errors import RunInvalid, UsageError
from deskgym.models.chat import as_unicode
from deskgym.models.meter import Meter
from deskgym.recording import Recording, Status, recording_of
from deskgym.rubric import Score
from deskgym.trajectory import Action, Observation

SCRIPTED_CUSTOMER: Final = "scripted"
NOTE_CHARACTERS_MAX: Final = 100_000
"""How much of one text a transcript keeps, so that a model that babbles without end leaves a
recording that can be read."""
NOBODY_READS: Final = "Nobody reads what you write outside of calls. Act by calling the tools."
_CUT_OFF: Final = (
    "Your last turn was cut off by the length limit, and what was cut off was not done. Write less."
)
EMPTY_TURN: Final = "Your last turn was empty. Call a tool, or write to the customer."

_log = logging.getLogger(__name__)


@runtime_checkable
class HasGoal(Protocol):
    """A task's own customer, if it can say what it wants to whoever speaks for it instead."""

    @property
    def goal(self) -> str: ...


def goal_of(environment: Environment) -> str:
    """What the customer of an episode wants; private."""
    customer = environment.fixture.customer
    if isinstance(customer, HasGoal):
        return customer.goal
    return "You want what your first message asks for, and nothing else."


def last_said(environment: Environment, role: str) -> str | None:
    """What the agent or the customer said with the last action, by the episode's own log."""
    number = len(environment.steps)
    for table, row in reversed(environment.world.log):
        if row[0] != number:
            break
        if table == "env_message" and row[1] == role:
            return str(row[2])
    return None


class _Over(Exception):
    """The run ends here, though the environment would go on."""

    def __init__(self, termination: Termination) -> None:
        super().__init__(termination)
        self.termination: Termination = termination


@dataclass
class _Dialogue:
    """One run while it goes on."""

    environment: Environment
    limits: Limits
    is_budgeted: bool
    voice: Voice | None = None
    scores: list[Score] = field(default_factory=list[Score])
    transcript: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    turns: int = 0
    rounds: int = 0
    malformed_calls: int = 0
    fruitless: int = 0

    @property
    def _has_customer(self) -> bool:
        return self.environment.suite.speech is not None

    async def run(self, player: Player) -> Termination:
        """Turn after turn, to the end."""
        seen: Seen | None = None
        try:
            while not self.environment.done:
                turn = await player.turn(seen)
                if turn.stop:
                    return "agent_stopped"
                self._note("agent", turn.private, heard=False)
                seen = await self._take(turn)
        except _Over as over:
            return over.termination
        assert self.environment.ended is not None, "an episode that is done has a reason"
        return self.environment.ended

    async def _take(self, turn: AgentTurn) -> Seen:
        if turn.calls:
            return await self._take_calls(turn)
        if turn.cut:
            return self._fruitless(_CUT_OFF, "unusable_output")
        if not turn.speech.strip():
            return self._fruitless(
                EMPTY_TURN if self._has_customer else NOBODY_READS, "agent_stopped"
            )
        return await self._take_speech(turn.speech)

    async def _take_calls(self, turn: AgentTurn) -> Seen:
        self.rounds += 1
        if self._has_customer and self.is_budgeted and self.rounds > self.limits.rounds_max:
            raise _Over("round_limit")
        answers: list[Any] = []
        for item in turn.calls:
            if not isinstance(item, Action):
                self.malformed_calls += 1
                self._note("error", f"{item.code}: {item.hint}", heard=False)
                answers.append(item)
            elif self.environment.done:
                break
            else:
                answers.append(await self._act(item))
        if not any(isinstance(answer, Observation) for answer in answers):
            notice = _CUT_OFF if turn.cut else None
            return self._fruitless(notice, "unusable_output")._replace(answers=tuple(answers))
        self.fruitless = 0
        return Seen(tuple(answers), notice=_CUT_OFF if turn.cut else None)

    async def _take_speech(self, text: str) -> Seen:
        speech = self.environment.suite.speech
        if speech is None:
            self._note("agent", text, heard=False)
            return self._fruitless(NOBODY_READS, "agent_stopped")
        self.fruitless = 0
        answer = await self._act(Action(speech.tool, {speech.argument: text}))
        said = self._said("customer")
        if said is not None:
            return Seen(said=said)
        return Seen(notice=answer.message if answer.ok else f"{answer.code}: {answer.message}")

    async def _act(self, action: Action) -> Observation:
        """Carry out one action, with what the customer says to it."""
        environment = self.environment
        reply = None
        if self.voice is not None or self._is_last_turn:
            asked = environment.question(action)
            if asked is not None and self._is_last_turn:
                raise _Over("turn_limit")
            if asked is not None and self.voice is not None:
                reply = await self._asked(self.voice, Spoken(asked.words, asked.proposal))
        observation = environment.step(action, reply)
        self.scores.append(environment.score())
        if self._has_customer and self._said("agent") is not None:
            self.turns += 1
            self.rounds = 0
        return observation

    def score(self) -> Score:
        """What it has earned so far: nothing happens after the last action."""
        return self.scores[-1] if self.scores else self.environment.score()

    @property
    def _is_last_turn(self) -> bool:
        return self._has_customer and self.is_budgeted and self.turns >= self.limits.turns_max

    async def _asked(self, voice: Voice, spoken: Spoken) -> CustomerReply:
        self._note("agent", spoken.words, heard=True)
        answered = await voice.answer(spoken)
        self._note("customer", answered.reply.message, heard=True, reason=answered.reason)
        return answered.reply

    def _said(self, role: str) -> str | None:
        return last_said(self.environment, role)

    def _fruitless(self, notice: str | None, termination: Termination) -> Seen:
        """A turn of which nothing was carried out; several in a row end the run."""
        self.fruitless += 1
        if self.fruitless >= self.limits.attempts_max:
            raise _Over(termination)
        return Seen(notice=notice)

    def _note(self, role: str, text: str, *, heard: bool, reason: str = "") -> None:
        if text:
            number = len(self.environment.steps)
            if len(text) > NOTE_CHARACTERS_MAX:
                more = len(text) - NOTE_CHARACTERS_MAX
                text = f"{text[:NOTE_CHARACTERS_MAX]}… ({more} characters more)"
            entry = {"step": number, "role": role, "text": as_unicode(text)}
            self.transcript.append(
                {**entry, "heard": heard, **({"reason": reason} if reason else {})}
            )


@dataclass(frozen=True)
class _End:
    status: Status
    termination: Termination
    detail: str = ""


async def play_dialogue(
    environment: Environment,
    agent: Agent,
    customer: Customer | None = None,
    *,
    seed: int = 0,
    limits: Limits | None = None,
) -> PlayedEpisode:
    """Play one episode to its end. Whatever agent, customer or provider do, it is one result.

    Args:
        environment: where to act; it is reset.
        agent: who acts.
        customer: who speaks for the customer; the task's own script if None.
        seed: the episode's seed.
        limits: the budgets; those of `Limits()` if None.

    Raises:
        UsageError: the seed is out of its limits, or the suite has no customer to speak for.
    """
    if customer is not None and environment.suite.speech is None:
        raise UsageError(
            f"{environment.id} has no customer to talk to, so nobody can speak for one"
        )
    started = perf_counter()
    limits = limits or Limits()
    opening = environment.reset(seed)
    dialogue = _Dialogue(environment, limits, agent.is_budgeted)
    agent_meter, customer_meter = Meter(), Meter()
    suite = environment.suite
    try:
        if customer is not None:
            briefing = CustomerBriefing(goal_of(environment), environment.fixture.opening)
            dialogue.voice = customer.start(briefing, customer_meter)
        told = AgentBriefing(suite.instructions, suite.toolbox, opening, suite.speech is not None)
        end = await _played(dialogue, agent.start(told, agent_meter))
    except Exception as error:
        end = _failed(environment, error)
    by_script = isinstance(agent, ScriptedAgent) and customer is None and end.status != "invalid"
    name = SCRIPTED_CUSTOMER if customer is None else customer.name
    facts = run_facts(
        termination=end.termination,
        invalid=end.status == "invalid",
        detail=end.detail,
        customer=name,
        turns=dialogue.turns,
        malformed_calls=dialogue.malformed_calls,
        transcript=dialogue.transcript,
        agent_meter=agent_meter,
        customer_meter=customer_meter,
    )
    recording, end = _recorded(dialogue, agent, end, None if by_script else facts)
    score = dialogue.score() if end.status == "reward" else None
    return PlayedEpisode(
        end.status,
        score,
        end.termination,
        end.detail,
        recording,
        name,
        dialogue.turns,
        dialogue.malformed_calls,
        agent_meter,
        customer_meter,
        perf_counter() - started,
    )


async def _played(dialogue: _Dialogue, player: Player) -> _End:
    limit_s = dialogue.limits.episode_s
    clock = asyncio.timeout(limit_s)
    try:
        async with clock:
            termination = await dialogue.run(player)
    except RunInvalid as invalid:
        return _End("invalid", invalid.reason, invalid.detail)
    except TimeoutError:
        if not clock.expired():
            raise
        return _End("invalid", "deadline", f"the episode took more than {limit_s:g} seconds")
    bugs = dialogue.environment.bugs
    if bugs:
        return _End("error", termination, _described(bugs[0]))
    return _End("reward", termination)


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _failed(environment: Environment, error: Exception) -> _End:
    """An error of ours, or of the agent's own code: logged, and told apart from a reward."""
    _log.error("%s seed %d: the run failed", environment.id, environment.seed, exc_info=error)
    return _End("error", "error", _described(error))


def _recorded(
    dialogue: _Dialogue, agent: Agent, end: _End, run: dict[str, Any] | None
) -> tuple[Recording | None, _End]:
    """The recording; a rubric that failed leaves none, and is an error too."""
    environment = dialogue.environment
    try:
        recording = recording_of(
            environment,
            agent=agent.name,
            step_scores=dialogue.scores,
            status=end.status,
            run=run,
        )
    except Exception as error:
        return None, _failed(environment, error) if end.status != "error" else end
    return recording, end
