"""Where a model is and what its key is: by its name and the environment variables of its provider.

* `openai:MODEL`: `OPENAI_BASE_URL` and `OPENAI_API_KEY`.
* `anthropic:MODEL`: `ANTHROPIC_BASE_URL` and `ANTHROPIC_API_KEY`.
* `groq` or `groq:MODEL`: `GROQ_API_KEY`; the model is `GROQ_MODEL`, or `llama-3.1-8b-instant`. So
  has it the published tickets baseline.
* `openenv` or `openenv:MODEL`: `API_BASE_URL` (or Hugging Face's router), `HF_TOKEN` or `API_KEY`,
  and `MODEL_NAME`. So have it OpenEnv's submissions.

Keys are read from the environment alone: a command line is seen by others and kept in a history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from deskgym.errors import UsageError


@dataclass(frozen=True)
class Provider:
    """Where a provider's settings are.

    Attributes:
        dialect: the API that it speaks, as `open_agent` names it.
        keys: the variables that may hold its key, the first that is set counts.
        url: the variable that holds its address; None where it has one address.
        default_url: its address otherwise; None leaves it to the API's own.
        model: the variable that names the model where the agent's name does not.
        default_model: the model otherwise.
    """

    dialect: str
    keys: tuple[str, ...]
    url: str | None = None
    default_url: str | None = None
    model: str | None = None
    default_model: str | None = None


PROVIDERS: Final[Mapping[str, Provider]] = {
    "openai": Provider("openai", ("OPENAI_API_KEY",), "OPENAI_BASE_URL"),
    "anthropic": Provider("anthropic", ("ANTHROPIC_API_KEY",), "ANTHROPIC_BASE_URL"),
    "groq": Provider(
        "openai",
        ("GROQ_API_KEY",),
        default_url="https://api.groq.com/openai/v1",
        model="GROQ_MODEL",
        default_model="llama-3.1-8b-instant",
    ),
    "openenv": Provider(
        "openai",
        ("HF_TOKEN", "API_KEY"),
        "API_BASE_URL",
        default_url="https://router.huggingface.co/v1",
        model="MODEL_NAME",
    ),
}


class Resolved(NamedTuple):
    """A model as `open_agent` takes it; its key is shown nowhere.

    Attributes:
        name: `openai:MODEL` or `anthropic:MODEL`.
        base_url: its address; None leaves it to the API's own.
        api_key: its key; None sends none.
    """

    name: str
    base_url: str | None
    api_key: str | None

    def __repr__(self) -> str:
        return f"Resolved({self.name!r}, {self.base_url!r})"


def names_provider(name: str) -> bool:
    """Whether an agent's name is that of a model, such as `openai:MODEL` or `groq`."""
    provider, colon, _ = name.partition(":")
    return provider in PROVIDERS and (bool(colon) or PROVIDERS[provider].model is not None)


def resolve(name: str, base_url: str | None, environment: Mapping[str, str]) -> Resolved:
    """A model by its name, the environment, and an address that goes over the environment's.

    Raises:
        UsageError: there is no such provider, no model is named, or the provider's own address is
            asked without a key.
    """
    prefix, _, model = name.partition(":")
    provider = PROVIDERS.get(prefix)
    if provider is None:
        known = ", ".join(PROVIDERS)
        raise UsageError(f"a model is named PROVIDER:MODEL, not {name!r} (providers: {known})")
    if not model and provider.model is not None:
        model = environment.get(provider.model) or provider.default_model or ""
    if not model:
        where = "" if provider.model is None else f", or set {provider.model}"
        raise UsageError(f"{name!r} names no model; write such as {prefix}:MODEL{where}")
    own = provider.url is not None and environment.get(provider.url)
    key = next((environment[key] for key in provider.keys if environment.get(key)), None)
    if key is None and not (base_url or own):
        raise UsageError(
            f"{name} needs {' or '.join(provider.keys)} in the environment; a server of your own "
            "that needs no key is named by --base-url"
        )
    address = base_url or own or provider.default_url
    return Resolved(f"{provider.dialect}:{model}", address, key)
