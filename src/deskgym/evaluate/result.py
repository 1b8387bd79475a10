"""An episode's result: what was asked for, how it ended, what it cost, and its recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, NamedTuple, cast

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from deskgym.errors import UsageError
from deskgym.recording import InvalidRecording, Recording, Status, parse

FORMAT: Final = 1
"""The format of a line. An older one is read; a newer one is refused."""


class InvalidResults(UsageError):
    """A file that holds no results, or results that were changed after they were made."""


class EpisodeKey(NamedTuple):
    """Which episode of an evaluation it is. A file holds one result for each.

    Attributes:
        trial: from 0; others repeat the same episode with the same seed.
        parameters: the task's parameters that were asked for, by name.
    """

    task: str
    agent: str
    seed: int
    trial: int
    parameters: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        named = "".join(f", {name} {value}" for name, value in self.parameters)
        trial = f", trial {self.trial}" if self.trial else ""
        return f"{self.task} by {self.agent}, seed {self.seed}{trial}{named}"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Usage(_Model):
    """What an episode's model calls used, those of a model-backed customer included.

    Attributes:
        calls: how many replies were asked for.
        retries: how many attempts were made beside the first of each.
        malformed: how many tool calls could not be read, so that the model had to mend them.
        prompt_tokens: as the provider counts them; None where it does not.
        completion_tokens: likewise.
        cost_usd: in US dollars; None where a price is not known.
        latencies_s: how long each of the agent's replies took, in seconds.
    """

    calls: int
    retries: int
    malformed: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    latencies_s: list[float]


class EpisodeResult(_Model):
    """How one episode ended. A reward, an invalid run and an error are three different things.

    Attributes:
        task: the task's id.
        agent: who acted.
        seed: the episode's seed.
        trial: from 0.
        parameters: the parameters that were asked for.
        settings: what else the result depends on, by name: the rubric, the versions, the model's
            options. Results of different settings are not mixed.
        status: `reward`; `invalid`, when nobody can judge the run; `error`, a bug of ours.
        reward: the reward; None unless the status is `reward`.
        termination: why it ended, in a word: the environment's reason, `agent_stopped`, a limit
            of the dialogue, or what made it invalid or an error.
        detail: a sentence for people where it is invalid or an error, else empty.
        verdict: the score's verdict, or None without a reward.
        reasons: what kept the reward from being full, in sentences.
        actions: how many actions were taken.
        checks: which checks of the rubric held, by name; none without a reward.
        usage: what model calls used; None for agents that call no model.
    """

    task: str
    agent: str
    seed: int
    trial: int
    parameters: dict[str, int]
    settings: dict[str, Any]
    status: Status
    reward: float | None
    termination: str
    detail: str
    verdict: str | None
    reasons: list[str]
    actions: int
    checks: dict[str, bool]
    usage: Usage | None

    @model_validator(mode="after")
    def _check(self) -> EpisodeResult:
        if not isinstance(self.settings.get("rubric"), str):
            raise PydanticCustomError("settings", "settings name no rubric")
        if (self.status == "reward") != (self.reward is not None):
            raise PydanticCustomError("reward", "there is a reward where the status says so")
        return self

    @property
    def key(self) -> EpisodeKey:
        """Which episode it is."""
        parameters = tuple(sorted(self.parameters.items()))
        return EpisodeKey(self.task, self.agent, self.seed, self.trial, parameters)

    @property
    def success(self) -> bool:
        """Whether it earned the full reward, 1, which is what pass^k counts."""
        return self.reward is not None and self.reward >= 1 - 1e-6


@dataclass(frozen=True)
class Episode:
    """A result with its recording; None where the run failed before there was a world."""

    result: EpisodeResult
    recording: Recording | None = field(repr=False)

    def to_line(self) -> bytes:
        """The episode as a line of a results file, sealed, with its line break."""
        result, recording = self.result.model_dump(), self.recording
        line = {
            "results": FORMAT,
            "result": result,
            "seal": _seal(result, None if recording is None else recording.hash),
            "recording": None if recording is None else orjson.Fragment(recording.to_json()),
        }
        return orjson.dumps(line) + b"\n"


def _seal(result: Mapping[str, Any], recording_hash: str | None) -> str:
    """SHA-256 over the recording's own hash and the result, so that neither is exchanged."""
    canonical = orjson.dumps(result, option=orjson.OPT_SORT_KEYS)
    return sha256((recording_hash or "").encode() + canonical).hexdigest()


def parse_line(line: bytes, where: str) -> EpisodeResult:
    """The result of a line; its recording is not looked into.

    Raises:
        InvalidResults: it is no result, of a newer format, or was changed.
    """
    return _parse(line, where)[0]


def parse_episode(line: bytes, where: str) -> Episode:
    """The result and the recording of a line, both checked, and against each other.

    Raises:
        InvalidResults: it is no result, of a newer format, or was changed.
        InvalidRecording: the recording was changed.
    """
    result, document = _parse(line, where)
    if document is None:
        return Episode(result, None)
    recording = parse(orjson.dumps(document), where)
    header, footer = recording.header, recording.footer
    told = (result.task, result.agent, result.seed, result.parameters, result.settings["rubric"])
    made = (header.task, header.agent, header.seed, header.parameters, header.rubric)
    reward = recording.reward if footer.status == "reward" else None
    ending = (result.status, result.reward, result.actions)
    if told != made or ending != (footer.status, reward, len(recording.steps)):
        raise InvalidRecording(f"{where}: the result is not that of the recording beside it")
    return Episode(result, recording)


def _parse(line: bytes, where: str) -> tuple[EpisodeResult, dict[str, Any] | None]:
    try:
        value: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InvalidResults(f"{where} is not JSON: {error}") from error
    fields = cast(dict[str, Any], value if isinstance(value, dict) else {})
    if "results" not in fields or "result" not in fields:
        raise InvalidResults(f"{where} holds no result of `deskgym run --out`")
    version = fields["results"]
    if type(version) is not int or version < 1:
        raise InvalidResults(f"{where} names no format of results")
    if version > FORMAT:
        raise InvalidResults(
            f"{where} has format {version}, and this version reads up to {FORMAT}: "
            "install a newer deskgym"
        )
    recording = fields.get("recording")
    try:
        result = EpisodeResult.model_validate(fields["result"])
    except ValidationError as error:
        detail = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, detail["loc"]))
        raise InvalidResults(f"{where} is no result: {place}: {detail['msg']}") from error
    document = cast(dict[str, Any], recording) if isinstance(recording, dict) else None
    sealed = _seal(fields["result"], None if document is None else str(document.get("hash")))
    if fields.get("seal") != sealed or (document is None) != (recording is None):
        raise InvalidResults(f"{where} was changed: the result is not what was written")
    return result, document
