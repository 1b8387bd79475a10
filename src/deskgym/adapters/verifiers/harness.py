"""The harness: an episode with its customer, played in the trainer's own process."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import verifiers.v1 as vf
from pydantic import Field

from deskgym.adapters.judgement import raise_unless_judged
from deskgym.adapters.verifiers.saved import INFO
from deskgym.adapters.verifiers.seat import Seat
from deskgym.adapters.verifiers.taskset import DeskgymData
from deskgym.agents.model import ModelAgent, ToolProtocol
from deskgym.customers import Customer, CustomerOptions, open_customer
from deskgym.dialogue import Limits, PlayedEpisode, play_dialogue
from deskgym.dialogue.limits import ROUNDS_MAX, TURNS_MAX
from deskgym.errors import UsageError
from deskgym.models.open import http_model
from deskgym.models.options import ATTEMPTS_MAX, CALL_TIMEOUT_S, ModelOptions, RetryPolicy

MODEL_TIMEOUT_S = 600.0


class CustomerConfig(vf.BaseConfig):
    """A model that speaks for the customer, in place of the task's own script."""

    model: str
    """`openai:MODEL` (Chat Completions) or `anthropic:MODEL` (Messages)."""
    base_url: str | None = None
    """Such as `http://localhost:8000/v1`; the API's own address if None."""
    api_key_var: str = "OPENAI_API_KEY"
    """The environment variable that holds its key."""
    persona: list[str] = Field(default_factory=lambda: ["patient"])
    """Its manner: patient, curt, confused, pushy, overreaching."""

    def options(self) -> CustomerOptions:
        """The customer as `open_customer` takes it."""
        key = os.environ.get(self.api_key_var)
        asked = ModelOptions(base_url=self.base_url, api_key=key, timeout_s=CALL_TIMEOUT_S)
        return CustomerOptions(self.model, asked, tuple(self.persona))


class DeskgymHarnessConfig(vf.HarnessConfig):
    """How the model is asked and who the customer is, under `--env.agent.harness.*`."""

    protocol: ToolProtocol = "native"
    """How it calls tools: by its provider's tool calls, or written into its `text`."""
    turns_max: int = Field(TURNS_MAX, ge=1)
    """How often it may speak to the customer."""
    rounds_max: int = Field(ROUNDS_MAX, ge=1)
    """How many times in a row it may call tools between two of them."""
    call_timeout_s: float = Field(MODEL_TIMEOUT_S, gt=0)
    """How long one attempt at a reply may take, in seconds."""
    attempts_max: int = Field(ATTEMPTS_MAX, ge=1)
    """How often a reply is asked for, where the provider fails."""
    retry_wait_s: float = Field(0.5, ge=0)
    """How long is waited before the second attempt; it doubles each time."""
    customer: CustomerConfig | None = None
    """A model that speaks for the customer; the task's own script if None."""


class DeskgymHarness(vf.Harness[DeskgymHarnessConfig]):
    """Plays an episode with a model, in this process: `play_dialogue`, asked over interception.

    What the trace serialises holds the episode's recording, in `info["deskgym"]`.
    """

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def setup(self, runtime: vf.Runtime) -> None:
        """Refuse a runtime that is elsewhere: nothing of an episode runs in it."""
        if runtime.config.type != "subprocess":
            raise UsageError(
                f"deskgym's episodes run in the trainer's process and take the runtime "
                f"`subprocess`, not {runtime.config.type!r}: --env.agent.runtime.type subprocess"
            )

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """Play the row's episode to its end.

        Raises:
            RunInvalid: it cannot be judged; the provider's own error goes over it.
            Exception: a tool of ours failed by mistake, as itself.
        """
        del runtime, mcp_urls
        if not isinstance(data, DeskgymData):
            raise UsageError(f"this harness plays deskgym's rows, not {type(data).__name__}")
        with data.row.environment() as environment:
            async with self._model(ctx, endpoint, secret) as agent, self._customer() as customer:
                seat = Seat(agent, trace, data.system_prompt)
                played = await play_dialogue(
                    environment, seat, customer, seed=data.seed, limits=self._limits
                )
            trace.info[INFO] = _kept(played)
            if seat.interrupted:
                raise asyncio.CancelledError
            raise_unless_judged(played, environment)
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")

    @property
    def _limits(self) -> Limits:
        return Limits(self.config.turns_max, self.config.rounds_max)

    @asynccontextmanager
    async def _model(
        self, ctx: vf.ModelContext, endpoint: str, secret: str
    ) -> AsyncGenerator[ModelAgent]:
        config = self.config
        wait_s = config.retry_wait_s
        policy = RetryPolicy(config.attempts_max, wait_s=wait_s, wait_max_s=max(60.0, wait_s))
        options = ModelOptions(
            base_url=endpoint, api_key=secret, timeout_s=config.call_timeout_s, retry=policy
        )
        async with http_model(f"openai:{ctx.model}", options) as model:
            yield ModelAgent(ctx.model, model, config.protocol, policy=policy)

    @asynccontextmanager
    async def _customer(self) -> AsyncGenerator[Customer | None]:
        if self.config.customer is None:
            yield None
            return
        async with open_customer(self.config.customer.options()) as customer:
            yield customer


def _kept(played: PlayedEpisode) -> dict[str, Any]:
    """What a trace keeps: the recording holds the final state, the changes and the score."""
    recording = played.recording
    return {
        "status": played.status,
        "termination": played.termination,
        "detail": played.detail,
        "recording": None if recording is None else orjson.loads(recording.to_json()),
    }
