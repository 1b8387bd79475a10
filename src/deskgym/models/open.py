"""Models by name: `openai:MODEL` and `anthropic:MODEL`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from deskgym.errors import UnknownName, UsageError
from deskgym.models.completions import Completions
from deskgym.models.messages import Messages
from deskgym.models.options import ModelOptions

if TYPE_CHECKING:
    from deskgym.models.client import Dialect, HttpModel

DIALECTS: Final[Mapping[str, Callable[[], Dialect]]] = {
    "openai": Completions,
    "anthropic": Messages,
}
"""The dialects by the first part of a model's name."""


def http_model(name: str, options: ModelOptions) -> HttpModel:
    """The model of a name, to be opened with `async with`.

    Raises:
        UnknownName: there is no such provider.
        UsageError: the name has no model, or the options do not fit.
    """
    provider, _, model = name.partition(":")
    if provider not in DIALECTS:
        raise UnknownName("provider", provider, DIALECTS)
    if not model.strip():
        raise UsageError(f"{name!r} names no model; write such as {provider}:MODEL")
    # Imported here because httpx takes 60 ms, and only a model needs it.
    from deskgym.models.client import HttpModel

    return HttpModel(model.strip(), DIALECTS[provider](), options)
