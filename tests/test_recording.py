"""Recordings: what is changed is found and named, whatever it is."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deskgym
from deskgym.evaluate import EpisodeSpec, run_episode
from deskgym.recording import FORMAT, InvalidRecording, Recording, parse, read
from deskgym.replay import final_world, initial_world, replay, trace
from deskgym.runner import record
from deskgym.trajectory import Action, call


def recorded(agent: str = "refund-first", seed: int = 0) -> Recording:
    return run_episode(EpisodeSpec("service/two-full-captures", agent, seed))


DOCUMENT: dict[str, Any] = orjson.loads(recorded().to_json())


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every leaf of a JSON value."""
    if isinstance(value, dict) and value:
        return [leaf for key in value for leaf in places(value[key], (*path, key))]
    if isinstance(value, list) and value:
        return [leaf for key, item in enumerate(value) for leaf in places(item, (*path, key))]
    return [path]


LEAVES = places(DOCUMENT)


def at(document: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        document = document[key]
    return document


def replaced(path: tuple[Any, ...], value: Any) -> bytes:
    document = copy.deepcopy(DOCUMENT)
    at(document, path[:-1])[path[-1]] = value
    return orjson.dumps(document)


def refusal(document: bytes) -> str:
    with pytest.raises(InvalidRecording) as caught:
        parse(document)
    return str(caught.value)


def test_a_recording_reads_back_as_it_was_made() -> None:
    made = recorded()
    assert parse(made.to_json()) == made
    assert parse(made.to_json()).to_json() == made.to_json()


json_values = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8)


@given(st.sampled_from(LEAVES), json_values)
def test_any_one_changed_value_is_refused(path: tuple[Any, ...], value: object) -> None:
    old = at(DOCUMENT, path)
    if type(old) is type(value) and old == value:
        value = [value]
    message = refusal(replaced(path, value))
    if path[0] == "steps":
        # The step that was changed, or, where its own seal was, the one that seal belongs to.
        assert f"step {path[1] + 1}" in message


@given(st.permutations(range(len(DOCUMENT["steps"]))))
def test_any_other_order_of_steps_is_refused(order: list[int]) -> None:
    document = copy.deepcopy(DOCUMENT)
    document["steps"] = [DOCUMENT["steps"][place] for place in order]
    moved = next((n for n, place in enumerate(order, 1) if place != n - 1), None)
    if moved is None:
        assert parse(orjson.dumps(document)).reward == -0.4
    else:
        assert f"in the place of step {moved}" in refusal(orjson.dumps(document))


@pytest.mark.parametrize("missing", range(len(DOCUMENT["steps"])))
def test_a_missing_step_is_refused_where_it_is_missing(missing: int) -> None:
    document = copy.deepcopy(DOCUMENT)
    del document["steps"][missing]
    last = missing == len(DOCUMENT["steps"]) - 1
    expected = f"after step {missing}" if last else f"in the place of step {missing + 1}"
    assert expected in refusal(orjson.dumps(document))


def test_a_doubled_step_is_refused() -> None:
    document = copy.deepcopy(DOCUMENT)
    document["steps"].insert(1, document["steps"][1])
    assert "step 2 stands in the place of step 3" in refusal(orjson.dumps(document))


def test_an_added_field_is_refused() -> None:
    assert "steps" not in refusal(replaced(("header", "note"), "hello"))
    assert "step 1: " in refusal(replaced(("steps", 0, "note"), "hello")).replace(".note", "")


def test_4800_and_4800_0_are_not_the_same_recording() -> None:
    path = ("steps", 3, "action", "arguments", "amount_cents")
    assert at(DOCUMENT, path) == 4800
    assert "changed at step 4" in refusal(replaced(path, 4800.0))


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        (b"", "is not JSON"),
        (b"nonsense", "is not JSON"),
        (orjson.dumps(DOCUMENT)[:-40], "is not JSON"),
        (b"[]", "has no header"),
        (b"{}", "has no header"),
        (b'{"header": {}}', "names no format"),
        (b'{"header": {"format": "1"}}', "names no format"),
        (b'{"header": {"format": 1}}', "is no recording: header.task"),
    ],
)
def test_what_is_no_recording_is_named(document: bytes, sentence: str) -> None:
    assert sentence in refusal(document)


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("header", "opening"), {}, "header.opening: message is missing"),
        (("steps", 0, "action"), {"tool": "x"}, "step 1.action: arguments is missing"),
        (("steps", 0, "action", "tool"), 5, "step 1.action: tool has the wrong type"),
        (("steps", 1, "result"), {}, "step 2.result: ok is missing"),
        (("steps", 3, "changes", 0, "key"), 5, "step 4.changes.0: key has the wrong type"),
        (("steps", 4, "score", "reward"), None, "step 5.score: reward has the wrong type"),
        (("footer", "score"), {}, "footer.score: reward is missing"),
    ],
)
def test_what_readers_take_from_a_part_has_to_be_in_it(
    path: tuple[Any, ...], value: object, sentence: str
) -> None:
    """Whoever changes a recording can seal it anew, so the seal alone promises no shape."""
    assert sentence in refusal(replaced(path, value))


def test_a_field_that_stands_twice_is_refused() -> None:
    honest = recorded().to_json()
    doubled = honest.replace(b'"seed":0', b'"seed":5,"seed":0', 1)
    assert "names the field 'seed' of an object twice" in refusal(doubled)
    spaced = orjson.dumps(orjson.loads(honest), option=orjson.OPT_INDENT_2)
    assert parse(spaced) == parse(honest)


def test_a_newer_format_says_that_a_newer_deskgym_reads_it() -> None:
    message = refusal(replaced(("header", "format"), FORMAT + 1))
    assert f"format {FORMAT + 1}" in message
    assert "install a newer deskgym" in message


def test_files_are_read_one_recording_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    lines = [recorded(seed=seed).to_json() for seed in range(3)]
    file.write_bytes(b"\n".join(lines) + b"\n\n")
    assert [item.recording.header.seed for item in read(file)] == [0, 1, 2]
    assert [item.where for item in read(file)] == [f"{file}:{n}" for n in (1, 2, 3)]
    file.write_bytes(b"\n".join([lines[0], lines[1][:-9], lines[2]]))
    located = read(file)
    assert next(located).recording.header.seed == 0
    with pytest.raises(InvalidRecording, match=r"runs.jsonl:2 is not JSON"):
        next(located)


def test_a_document_over_many_lines_is_read(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_bytes(orjson.dumps(DOCUMENT, option=orjson.OPT_INDENT_2))
    assert [item.recording.reward for item in read(file)] == [-0.4]


def test_files_without_recordings_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    for content, sentence in ((b"", "is empty"), (b"\n\n", "first line is empty")):
        file.write_bytes(content)
        with pytest.raises(InvalidRecording, match=sentence):
            list(read(file))
    with pytest.raises(InvalidRecording, match="cannot be read"):
        list(read(tmp_path / "missing.jsonl"))


def test_a_huge_line_is_refused_and_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deskgym.recording.DOCUMENT_BYTES_MAX", 1_000)
    file = tmp_path / "huge.jsonl"
    file.write_bytes(b'{"a": "' + b"x" * 2_000 + b'"}')
    with pytest.raises(InvalidRecording, match="longer than 64 MB"):
        list(read(file))


@pytest.mark.parametrize("agent", ["refund-first", "refund-second", "refund-too-much", "null"])
def test_every_recording_replays_without_a_difference(agent: str) -> None:
    made = replay(recorded(agent, seed=4))
    assert made.difference is None
    assert made.score.reward == made.recording.reward


def test_unknown_tools_and_malformed_calls_are_recorded_and_replay_like_any_step() -> None:
    strange = [
        call("fly_to_the_moon", now=True),
        call("get_order", order_id=float("nan"), extra=10**40),
        call("get_order", order_id="S-410\ud800"),
        Action("get_order", ["S-410"]),
        Action("get_order", None),
        call("message", text="x" * 40_000),
        call("get_order", order_id={"deep": [[[{"er": b"bytes"}]]]}),
    ]

    def agent(_: deskgym.Observation) -> Any:
        for action in strange:
            assert not (yield action).ok

    environment = deskgym.make("service/two-full-captures")
    made = record(environment, agent, agent="strange")
    assert [step.result["code"] for step in made.steps] == ["unknown_tool"] + [
        "invalid_arguments"
    ] * 6
    again = replay(parse(made.to_json()))
    assert again.difference is None


def forged(path: tuple[Any, ...], value: Any) -> Recording:
    """A recording with a changed value, whose model is built past the chain's check."""
    return Recording.model_validate(orjson.loads(replaced(path, value)))


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        (("header", "template"), "0" * 64, "the start: template"),
        (("steps", 1, "result", "data", "total_cents"), 1, "step 2: result.data.total_cents"),
        (("steps", 3, "changes", 0, "after", "amount_cents"), 1, "step 4: changes[0].after"),
        (("steps", 4, "score", "reward"), 1.0, "step 5: score.reward"),
        (("footer", "digest"), "0" * 64, "the end: digest"),
        (("header", "initial", "customers", 0, "name"), "Eve", "the start: initial.customers[0]"),
        (("footer", "final", "customers", 0, "name"), "Eve", "the end: final.customers[0].name"),
        (("footer", "score", "reward"), 1.0, "the end: score.reward"),
    ],
)
def test_a_forged_recording_is_caught_by_its_replay(
    path: tuple[Any, ...], value: Any, place: str
) -> None:
    difference = replay(forged(path, value)).difference
    assert str(difference).startswith(place)


def test_a_replay_under_another_version_is_scored_again_and_says_so() -> None:
    made = replay(recorded("refund-too-much"), rubric="service-reward.v2")
    assert made.rescored == "service-reward.v3"
    assert made.score.rubric == "service-reward.v2"
    assert made.difference is None


def test_worlds_are_whole_in_a_small_recording() -> None:
    made = recorded()
    assert "refunds" not in initial_world(made)
    [refund] = final_world(made)["refunds"]
    assert (refund["payment_id"], refund["amount_cents"]) == ("PAY-A", 4800)
    assert len(final_world(made)["orders"]) == 2


def test_a_large_world_is_left_out_and_rebuilt_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = recorded()
    monkeypatch.setattr("deskgym.recording.WHOLE_WORLD_ROWS_MAX", 5)
    large = recorded()
    assert large.header.initial is None
    assert large.footer.final is None
    assert initial_world(large) == whole.header.initial
    assert final_world(large) == whole.footer.final


def test_opening_a_recording_imports_nothing_that_it_names() -> None:
    with pytest.raises(deskgym.UnknownName, match="there is no suite 'os'"):
        replay(forged(("header", "task"), "os/path"))
    with pytest.raises(deskgym.UnknownName, match=r"there is no suite '\.\.'"):
        replay(forged(("header", "task"), "../etc"))


def test_a_recording_that_is_nested_too_deep_to_be_sealed_is_refused() -> None:
    deep = b'{"a":' * 400 + b"1" + b"}" * 400
    written = (
        recorded().to_json().replace(b'"arguments":{', b'"arguments":{"deep":' + deep + b",", 1)
    )
    assert "nested too deep" in refusal(written)


def test_a_trace_has_the_whole_score_after_each_step() -> None:
    recording = recorded()
    found = trace(recording)
    assert found.difference is None
    assert len(found.scores) == len(recording.steps) + 1
    assert found.scores[0].reward == 0
    for step, score in zip(recording.steps, found.scores[1:], strict=True):
        assert orjson.loads(orjson.dumps(score.brief())) == step.score
    assert orjson.loads(orjson.dumps(found.scores[-1].to_dict())) == recording.footer.score


def test_a_trace_ends_where_the_replay_departs_from_the_recording() -> None:
    recording = recorded()
    step = recording.steps[2].model_copy(
        update={"result": {**recording.steps[2].result, "code": "x"}}
    )
    changed = recording.model_copy(update={"steps": [*recording.steps[:2], step]})
    found = trace(changed)
    assert found.difference is not None
    assert (found.difference.step, found.difference.what) == (3, "result.code")
    assert len(found.scores) == 3
