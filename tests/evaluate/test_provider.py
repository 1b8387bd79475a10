"""Which variables of the environment name a model, its address and its key."""

import pytest

from deskgym.cli.provider import names_provider, resolve
from deskgym.errors import UsageError

KEYS = {"OPENAI_API_KEY": "ok", "ANTHROPIC_API_KEY": "ak", "GROQ_API_KEY": "gk", "HF_TOKEN": "hk"}


@pytest.mark.parametrize(
    ("name", "environment", "resolved"),
    [
        ("openai:m", {}, ("openai:m", None, "ok")),
        ("openai:m", {"OPENAI_BASE_URL": "http://u/v1"}, ("openai:m", "http://u/v1", "ok")),
        ("anthropic:m", {}, ("anthropic:m", None, "ak")),
        ("anthropic:m", {"ANTHROPIC_BASE_URL": "http://u"}, ("anthropic:m", "http://u", "ak")),
        ("groq", {},
         ("openai:llama-3.1-8b-instant", "https://api.groq.com/openai/v1", "gk")),
        ("groq", {"GROQ_MODEL": "m2"}, ("openai:m2", "https://api.groq.com/openai/v1", "gk")),
        ("groq:m3", {"GROQ_MODEL": "m2"}, ("openai:m3", "https://api.groq.com/openai/v1", "gk")),
        ("openenv", {"MODEL_NAME": "a/b:c"},
         ("openai:a/b:c", "https://router.huggingface.co/v1", "hk")),
        ("openenv:m", {"API_BASE_URL": "http://u/v1", "HF_TOKEN": "", "API_KEY": "pk"},
         ("openai:m", "http://u/v1", "pk")),
    ],
)  # fmt: skip
def test_each_provider_has_its_variables(
    name: str, environment: dict[str, str], resolved: tuple[str, str | None, str | None]
) -> None:
    assert tuple(resolve(name, None, {**KEYS, **environment})) == resolved


def test_an_address_that_is_named_goes_over_the_environments_and_needs_no_key() -> None:
    environment = {"OPENAI_BASE_URL": "http://other/v1"}
    assert tuple(resolve("openai:m", "http://u/v1", environment)) == (
        "openai:m", "http://u/v1", None,
    )  # fmt: skip
    assert resolve("openai:m", None, environment).base_url == "http://other/v1"


def test_a_key_is_not_shown() -> None:
    assert "gk" not in repr(resolve("groq", None, KEYS))


@pytest.mark.parametrize(
    ("name", "environment", "sentence"),
    [
        ("openai:m", {}, "openai:m needs OPENAI_API_KEY"),
        ("groq", {}, "groq needs GROQ_API_KEY"),
        ("openenv:m", {}, "needs HF_TOKEN or API_KEY"),
        ("openenv", KEYS, "or set MODEL_NAME"),
        ("openai", KEYS, "write such as openai:MODEL"),
        ("openai:", KEYS, "names no model"),
        ("gpt-4o", KEYS, "PROVIDER:MODEL, not 'gpt-4o'"),
    ],
)
def test_what_is_missing_is_named(name: str, environment: dict[str, str], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        resolve(name, None, environment)


def test_names_of_models_are_told_from_names_of_scripts() -> None:
    assert all(map(names_provider, ("openai:m", "anthropic:m", "groq", "openenv:m")))
    assert not any(map(names_provider, ("oracle", "openai", "careful", "x:m", "human")))
