"""`deskgym run` with models: as agents, as customers, and with what cannot be asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import orjson
import pytest

from deskgym.testing.model_server import ModelRequest, ModelServer, Reply, Say, play_controls
from tests.cli.test_cli import Deskgym, deskgym
from tests.scripted import KEY

__all__ = ["deskgym"]

RUN = ("run", "service/damaged-lamp", "--seeds", "0-1", "--agent", "openai:scripted")


def desk_and_customer() -> Callable[[ModelRequest], Reply]:
    """One server for both roles, who are told apart by their instructions."""
    desk = play_controls(["service/damaged-lamp"], seeds=range(2))
    words = count()

    def play(request: ModelRequest) -> Reply:
        if "You play a customer" not in request.system:
            return desk(request)
        fields = {"message": f"Yes ({next(words)}).", "done": False, "reason": "", "accepts": True}
        return Say(orjson.dumps(fields).decode())

    return play


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(desk_and_customer(), api_key=KEY) as running:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", running.url("openai"))
        yield running
        assert not running.failures


def test_a_model_acts_where_the_environment_says_and_no_file_shows_its_key(
    deskgym: Deskgym, server: ModelServer, tmp_path: Path
) -> None:
    done = deskgym(*RUN, "--protocol", "text", "--price", "1,2", "--out", "runs.jsonl")
    assert done.code == 0, done.err
    assert done.words.count("openai:scripted 0 1.00") == 1
    assert KEY not in done.out + done.err + (tmp_path / "runs.jsonl").read_text()
    assert "tools" not in server.requests[0].body


def test_a_model_speaks_for_the_customer_and_the_recording_replays_without_it(
    deskgym: Deskgym, server: ModelServer, tmp_path: Path
) -> None:
    customer = ("--customer", "model:openai:customer", "--persona", "pushy,curt")
    done = deskgym(*RUN, *customer, "--out", "runs.jsonl")
    assert done.code == 0, done.err
    assert "Yes (0)." in (tmp_path / "runs.jsonl").read_text()
    asked = len(server.requests)
    assert deskgym("replay", "runs.jsonl").code == 0
    assert len(server.requests) == asked


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--protocol", "json"), "--protocol takes native or text"),
        (("--price", "1"), "--price takes IN,OUT"),
        (("--price", "-1,2"), "a price is"),
        (("--extra", "top_k"), "--extra takes NAME=JSON"),
        (("--customer", "nobody"), "--customer takes scripted or a model"),
        (("--persona", "pushi"), "did you mean 'pushy'"),
        (("--call-timeout", "0"), "more than 0 seconds"),
        (("--base-url", "localhost"), "the base URL has to be such as"),
        (("--agent", "opnai:m"), "opnai"),
        (("--agent", "openai:"), "names no model"),
    ],
)
def test_what_cannot_be_asked_for_is_named_before_anything_runs(
    deskgym: Deskgym, server: ModelServer, arguments: tuple[str, ...], words: str
) -> None:
    done = deskgym(*RUN, *arguments)
    assert done.code == 2
    assert words in " ".join(done.err.split())
    assert server.requests == []


def test_a_suite_without_a_customer_takes_none(deskgym: Deskgym, server: ModelServer) -> None:
    done = deskgym("run", "backoffice/late-return", "--customer", "openai:m")
    assert done.code == 2
    assert "no customer to talk to" in " ".join(done.err.split())
    assert server.requests == []
