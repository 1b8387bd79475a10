"""Every oracle as a model: natively and by text, over both APIs, streamed or not."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

import deskgym
from deskgym.recording import parse
from deskgym.replay import replay as replayed
from deskgym.task import Control
from deskgym.testing.model_server import play_script
from tests.scripted import play_model

WAYS = list(product(("openai", "anthropic"), ("native", "text"), (False, True)))
RIGHT = [
    (f"{suite.name}/{task.name}", control)
    for suite, task in deskgym.find_tasks()
    for control in task.controls
    if control.kind in ("oracle", "alternate")
]
# By default each control in one way and each way by several controls.
SLICE = [(*each, WAYS[place % len(WAYS)]) for place, each in enumerate(RIGHT)]
REST = [(*each, way) for each, way in product(RIGHT, WAYS) if (*each, way) not in SLICE]


def check(task: str, control: Control, way: tuple[Any, Any, bool]) -> None:
    provider, protocol, stream = way
    episode = play_model(
        play_script(control.script),
        task,
        provider=provider,
        protocol=protocol,
        stream=stream,
        parameters=dict(control.parameters),
    )
    assert episode.status == "reward", episode.detail
    assert episode.score is not None
    assert episode.reward == control.reward_by(episode.score.rubric)
    assert episode.malformed_calls == 0
    assert episode.recording is not None
    document = episode.recording.to_json()
    assert parse(document) == episode.recording
    assert replayed(parse(document)).difference is None


@pytest.mark.parametrize(("task", "control", "way"), SLICE)
def test_an_oracle_earns_its_reward_as_a_model(
    task: str, control: Control, way: tuple[Any, Any, bool]
) -> None:
    check(task, control, way)


@pytest.mark.long
@pytest.mark.parametrize(("task", "control", "way"), REST)
def test_an_oracle_earns_its_reward_as_a_model_in_every_way(
    task: str, control: Control, way: tuple[Any, Any, bool]
) -> None:
    check(task, control, way)


def test_the_slice_has_every_suite_and_every_way() -> None:
    assert {task.partition("/")[0] for task, _ in RIGHT} == {"service", "backoffice", "tickets"}
    assert {way for *_, way in SLICE} == set(WAYS)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_provider_that_stops_at_the_closing_tag_leaves_it_to_be_closed(provider: Any) -> None:
    script = deskgym.load_suite("service").task("damaged-lamp").control("oracle").script
    play = play_script(script)

    def stopped(request: Any) -> Any:
        stops = request.body.get("stop") or request.body.get("stop_sequences")
        assert stops == ["</tool_call>"]
        say = play(request)
        if "<tool_call>" not in say.text:
            return say
        return replace(say, text=say.text.removesuffix("</tool_call>"), finish="stop_sequence")

    episode = play_model(stopped, provider=provider, protocol="text", stop_at_call=True)
    assert episode.reward == 1
    assert episode.malformed_calls == 0
