"""The options of `deskgym run` for models, and for who speaks for the customer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, NamedTuple

import orjson
import typer

from deskgym.agents import AgentOptions
from deskgym.cli.provider import Resolved, names_provider, resolve
from deskgym.customers import CustomerOptions, traits_of
from deskgym.dialogue import Limits
from deskgym.errors import UsageError
from deskgym.models.chat import as_unicode
from deskgym.models.meter import Prices
from deskgym.models.options import ModelOptions, RetryPolicy, Sampling

MODELS: Final = "Models"
CUSTOMERS: Final = "Customers"
SCRIPTED: Final = "scripted"

_MODEL_HELP: Final = "openai:MODEL, anthropic:MODEL, groq or openenv"


def _option(*names: str, panel: str = MODELS, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel=panel, **settings)


BaseUrl = Annotated[
    str | None,
    _option(
        "--base-url",
        metavar="URL",
        help="The API's address, such as http://localhost:8000/v1; otherwise what the provider's "
        "environment variable says. The key is always read from there.",
    ),
]
Protocol = Annotated[
    str, _option("--protocol", metavar="native|text", help="How the model calls tools.")
]
StopAtCall = Annotated[
    bool,
    _option("--stop-at-call", help="With --protocol text, stop the model after each call."),
]
Stream = Annotated[bool, _option("--stream", help="Read replies while they are written.")]
Temperature = Annotated[float | None, _option("--temperature", help="Sampling temperature.")]
TopP = Annotated[float | None, _option("--top-p", help="Nucleus sampling.")]
MaxTokens = Annotated[
    int | None, _option("--max-tokens", min=1, help="How long a reply may be, in tokens.")
]
SamplingSeed = Annotated[
    int | None, _option("--sampling-seed", help="The provider's seed for sampling.")
]
Extra = Annotated[
    list[str] | None,
    _option(
        "--extra",
        metavar="NAME=JSON",
        help="A further field of each request, such as top_k=40; may be repeated.",
    ),
]
Price = Annotated[
    str | None,
    _option(
        "--price",
        metavar="IN,OUT[,CACHED]",
        help="Dollars for a million tokens that are read, written, and read from the cache; the "
        "cost is unknown otherwise.",
    ),
]
CallTimeout = Annotated[
    float, _option("--call-timeout", metavar="SECONDS", help="How long one attempt may take.")
]
EpisodeTimeout = Annotated[
    float | None,
    _option(
        "--episode-timeout",
        metavar="SECONDS",
        help="How long an episode may take; it is invalid then. Without limit by default.",
    ),
]
Attempts = Annotated[
    int,
    _option("--attempts", min=1, help="How often a model is asked where a fault may pass."),
]
TurnsMax = Annotated[
    int,
    _option(
        "--turns-max",
        min=1,
        help="How often a model may speak to the customer, proposals included.",
    ),
]
RoundsMax = Annotated[
    int,
    _option(
        "--rounds-max",
        min=1,
        help="How many times in a row a model may call tools before it speaks to the customer.",
    ),
]
Customer = Annotated[
    str,
    _option(
        "--customer",
        panel=CUSTOMERS,
        metavar="NAME",
        help=f"Who speaks for the customer: scripted, or a model: {_MODEL_HELP}.",
    ),
]
CustomerUrl = Annotated[
    str | None,
    _option(
        "--customer-base-url",
        panel=CUSTOMERS,
        metavar="URL",
        help="The address of the customer's API; that of the agent's if both are of one provider, "
        "otherwise what the provider's environment variable says.",
    ),
]
CustomerTemperature = Annotated[
    float | None,
    _option(
        "--customer-temperature",
        panel=CUSTOMERS,
        help="The customer's sampling temperature; the agent's sampling is not the customer's.",
    ),
]
CustomerPrice = Annotated[
    str | None,
    _option(
        "--customer-price",
        panel=CUSTOMERS,
        metavar="IN,OUT[,CACHED]",
        help="What the customer's model costs, as --price says it of the agent's.",
    ),
]
Persona = Annotated[
    str,
    _option(
        "--persona",
        panel=CUSTOMERS,
        metavar="TRAIT[,TRAIT]",
        help="The manner of a customer by model: patient, curt, confused, pushy, or overreaching, "
        "who asks for what the policy forbids.",
    ),
]


@dataclass(frozen=True)
class ModelFlags:
    """What the command line says about models and customers, as it is written there."""

    base_url: str | None
    protocol: str
    stop_at_call: bool
    stream: bool
    temperature: float | None
    top_p: float | None
    max_tokens: int | None
    sampling_seed: int | None
    extra: Sequence[str]
    price: str | None
    call_timeout_s: float
    episode_timeout_s: float | None
    attempts: int
    customer: str
    customer_url: str | None
    customer_temperature: float | None
    customer_price: str | None
    persona: str
    turns_max: int
    rounds_max: int

    @property
    def limits(self) -> Limits:
        """The budgets of a dialogue."""
        return Limits(self.turns_max, self.rounds_max, episode_s=self.episode_timeout_s)

    def agent(self, name: str, environment: Mapping[str, str]) -> NamedAgent:
        """An agent by its name on the command line; raises `UsageError`."""
        if self.protocol not in ("native", "text"):
            raise UsageError(f"--protocol takes native or text, not {self.protocol!r}")
        if not _is_model(name):
            return NamedAgent(name, AgentOptions())
        resolved = resolve(name, self.base_url, environment)
        sampling = Sampling(
            self.temperature,
            self.top_p,
            self.max_tokens,
            self.sampling_seed,
            _extra(self.extra),
        )
        options = self._model(resolved, sampling, _prices(self.price, "--price"))
        return NamedAgent(resolved.name, AgentOptions(options, self.protocol, self.stop_at_call))

    def speaker(
        self, agents: Sequence[str], environment: Mapping[str, str]
    ) -> CustomerOptions | None:
        """The model that speaks for the customer; None for the script.

        Args:
            agents: the agents, as they are named on the command line.
            environment: where keys and addresses are.

        Raises:
            UsageError: it names no model, or what is said of it does not fit.
        """
        traits = traits_of(self.persona)
        name = self.customer.removeprefix("model:")
        prices = _prices(self.customer_price, "--customer-price")
        if name == SCRIPTED:
            return None
        if not _is_model(name):
            raise UsageError(f"--customer takes scripted or a model ({_MODEL_HELP}), not {name!r}")
        # A key of the customer's provider is not for the address of another one.
        acting = {agent.partition(":")[0] for agent in agents if _is_model(agent)}
        shared = self.base_url if not acting or name.partition(":")[0] in acting else None
        resolved = resolve(name, self.customer_url or shared, environment)
        sampling = Sampling(self.customer_temperature, seed=self.sampling_seed)
        return CustomerOptions(resolved.name, self._model(resolved, sampling, prices), traits)

    def _model(self, resolved: Resolved, sampling: Sampling, prices: Prices | None) -> ModelOptions:
        return ModelOptions(
            resolved.base_url,
            resolved.api_key,
            sampling,
            prices,
            self.call_timeout_s,
            RetryPolicy(self.attempts, max(self.attempts, RetryPolicy().rate_limited_max)),
            self.stream,
        )


class NamedAgent(NamedTuple):
    """An agent as an episode takes it."""

    name: str
    options: AgentOptions


def _is_model(name: str) -> bool:
    return ":" in name or names_provider(name)


def _extra(settings: Sequence[str]) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not name or not equals:
            raise UsageError(f"--extra takes NAME=JSON, such as top_k=40, not {setting!r}")
        try:
            extra[name] = orjson.loads(value)
        except orjson.JSONDecodeError:
            extra[name] = as_unicode(value)  # a plain word is a text
    return extra


def _prices(text: str | None, option: str) -> Prices | None:
    if text is None:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 3):
        raise UsageError(f"{option} takes IN,OUT or IN,OUT,CACHED, such as 2.5,10, not {text!r}")
    return Prices(*numbers)
