"""Every check of the conformance suite can fail: a fault is planted and seen named."""

import itertools
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deskgym import (
    Action,
    Desk,
    Environment,
    Fixture,
    Id,
    Observation,
    Refusal,
    Result,
    Suite,
    Template,
    call,
    recording,
)
from deskgym.rubric import Reader, Score
from deskgym.store.slot import Slot
from deskgym.store.world import World
from deskgym.testing import CHECKS, check_conformance
from deskgym.tool import tool
from tests.testing import mugs


def found(suite: Suite, check: str) -> str:
    """What a check says about a faulty suite; the sound one passes the same check."""
    findings = check_conformance(suite, [0, 1], [check])
    assert findings, f"{check} saw no fault"
    assert {(finding.check, finding.task) for finding in findings} == {(check, "mugs/cracked")}
    return "\n".join(map(str, findings))


# What is declared.


def test_a_tool_without_a_description() -> None:
    said = found(mugs.suite(replace(mugs.close, description=" ")), "declarations")
    assert said == "mugs/cracked, tool close: has no description [declarations]"


def test_a_tool_that_declares_a_code_of_every_call() -> None:
    said = found(mugs.suite(replace(mugs.close, codes=("closed", "conflict"))), "declarations")
    assert "tool close: declares conflict, which any call can be answered with" in said


def test_a_schema_that_lets_anything_through() -> None:
    loose = {"type": "object", "properties": {}}
    said = found(mugs.suite(replace(mugs.close, schema=loose)), "declarations")
    assert "no object without further properties" in said


def test_a_control_whose_parameters_do_not_fit() -> None:
    control = replace(mugs.TASK.controls[0], parameters={"total_cents": 0})
    said = found(mugs.suite(controls=(control,)), "declarations")
    assert "control take-back: has parameters that do not fit: total_cents must be" in said


def test_a_fixture_that_differs_the_second_time() -> None:
    count = itertools.count()

    def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
        return replace(mugs.fixture(seed, values), data={"visit": next(count)})

    said = found(mugs.suite(fixture=fixture), "fixtures")
    assert "seed 1, the fixture with the defaults: builds other data for the same seed" in said


def test_a_row_that_the_schema_does_not_allow_at_a_limit_of_a_parameter() -> None:
    def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
        made = mugs.fixture(seed, values)
        rows = dict(made.template.rows)
        if values["total_cents"] == 10_000:
            del rows["customers"]
        return replace(made, template=Template(rows))

    said = found(mugs.suite(fixture=fixture), "fixtures")
    assert "FOREIGN KEY constraint failed" in said
    assert "the fixture with total_cents 10000" in said
    assert "the defaults" not in said


# Determinism.


def test_a_tool_that_counts_its_calls() -> None:
    count = itertools.count()

    @tool("talk", codes=("reported",))
    def report(desk: Desk, order_id: Id) -> Result:
        """Report.

        Args:
            order_id: the order.
        """
        return Result(True, "reported", "It is noted.", {"number": next(count)})

    said = found(mugs.suite(report), "same-again")
    assert "seed 1, take-back step 3 report: run again, the observation was " in said
    said = found(mugs.suite(report), "replays")
    assert "take-back recording: replays otherwise: step 3: result.data.number was rec" in said


def test_a_tool_that_remembers_an_episode_outside_its_world() -> None:
    seen: list[str] = []

    @tool("read", codes=("order_found",))
    def find_order(desk: Desk, order_id: Id) -> Result:
        """Look up.

        Args:
            order_id: the order.
        """
        if desk.step == 1:
            seen.clear()
        seen.append(order_id)
        items = desk.records("SELECT id AS item_id FROM order_items ORDER BY id")
        return Result(True, "order_found", "It.", {"items": items, "looked": list(seen)})

    def look_twice(_: Observation) -> mugs.Moves:
        yield call("find_order", order_id="M-1")
        yield call("find_order", order_id="M-2")

    control = replace(mugs.TASK.controls[1], script=look_twice)
    suite = mugs.suite(find_order, controls=(control,))
    assert check_conformance(suite, [0], ["same-again"]) == []
    said = found(suite, "interleaved")
    assert "only-say-so step 2 find_order: with another episode in between, the obs" in said


def test_a_query_without_order_by() -> None:
    @tool("read", codes=("order_found",))
    def find_order(desk: Desk, order_id: Id) -> Result:
        """Look up.

        Args:
            order_id: the order.
        """
        return Result(
            True, "order_found", "It.", {"items": desk.records("SELECT id FROM order_items")}
        )

    said = found(mugs.suite(find_order), "ordered-queries")
    assert "step 1 find_order: with unordered rows reversed, the observation was " in said
    assert "an ORDER BY is missing" in said


def test_a_tool_that_lists_a_set(tmp_path: Path) -> None:
    source = Path(mugs.__file__).read_text("utf-8").replace('name="mugs"', 'name="salted"')
    salted = '" ".join({"it", "is", "noted", "here", "by", "me", "for", "you"})'
    assert '"It is noted."' in source
    tmp_path.joinpath("salted.py").write_text(source.replace('"It is noted."', salted))
    metadata = tmp_path / "salted-1.dist-info"
    metadata.mkdir()
    metadata.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: salted\nVersion: 1\n")
    metadata.joinpath("entry_points.txt").write_text("[deskgym.suites]\nsalted = salted:SUITE\n")
    program = (
        "from deskgym.testing import check_conformance\n"
        'for finding in check_conformance("salted", [0], ["same-again", "other-process"]):\n'
        "    print(finding)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[0] == (
        "salted/cracked seed 0, take-back step 3 report: another process, with another hash seed, "
        "time zone and locale, differs [other-process]"
    )


# Refusals and the end.


def _open_return(body: str) -> Any:
    """`open_return` that goes wrong in one of several ways."""

    @tool("write", codes=("return_opened", "item_not_found"))
    def open_return(desk: Desk, order_id: Id, item_id: Id) -> Result:
        """Open a return.

        Args:
            order_id: the order.
            item_id: the item.
        """
        desk.rows("UPDATE orders SET status = 'cancelled'")
        if body == "answers":
            return Result(False, "item_not_found", "There is none.")
        if body == "invents":
            raise Refusal("no_such_item", "There is none.")
        if body == "mumbles":
            raise Refusal("item_not_found", " ")
        if body == "breaks":
            return Result(True, "return_opened", ["Item"][len(item_id)])
        raise Refusal("item_not_found", "There is none.")

    return open_return


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("answers", "the tool failed: InvalidDefinition('open_return changed rows"),
        ("invents", "the tool failed: InvalidDefinition('open_return refused with no_such_item"),
        ("mumbles", "it answered item_not_found without a sentence"),
        ("breaks", "the tool failed: IndexError('list index out of range')"),
    ],
)
def test_a_tool_that_refuses_wrongly(body: str, sentence: str) -> None:
    said = found(mugs.suite(_open_return(body)), "refusals")
    assert f'open_return {{"order_id":"M-1","item_id":"M-1-1"}} at the start: {sentence}' in said


def test_a_tool_that_writes_and_then_refuses_is_undone() -> None:
    """The store takes such a call back, so nothing is wrong with it."""
    checks = ["refusals", "whole-worlds", "same-again", "interleaved"]
    assert check_conformance(mugs.suite(_open_return("refuses")), [0], checks) == []


def test_a_refusal_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    atomic = World.atomic

    def kept(self: World, work: Any) -> Any:
        try:
            return atomic(self, work)
        except Refusal:
            atomic(self, lambda: self.rows("UPDATE orders SET discount_cents = discount_cents + 1"))
            raise

    monkeypatch.setattr(World, "atomic", kept)
    said = found(mugs.SUITE, "refusals")
    assert "it was refused with item_not_found and changed the world" in said


def test_a_refusal_that_is_not_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Slot, "undo_call", Slot.keep_call)
    said = found(mugs.suite(_open_return("refuses")), "whole-worlds")
    assert "only-say-so end: the world holds other rows than its changes say" in said


def test_an_action_after_the_end_that_starts_again(monkeypatch: pytest.MonkeyPatch) -> None:
    step = Environment.step

    def forgiving(self: Environment, action: Action) -> Observation:
        if self.done:
            self.reset(self.seed)
        return step(self, action)

    monkeypatch.setattr(Environment, "step", forgiving)
    said = found(mugs.SUITE, "after-the-end")
    assert "after the end: was answered unknown_tool and not refused as episode_over" in said
    assert "after the end: changed the world, the trajectory or the score" in said


# Recordings.


def test_a_changed_recording_that_is_not_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_check_chain", lambda *_: None)
    said = found(mugs.SUITE, "replays")
    for what in ("step 2 changed", "the last step cut off", "two steps swapped"):
        assert f"take-back recording with {what}: is taken for a true one" in said


def test_a_refusal_that_names_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    check = recording._check_chain

    def silent(fields: Mapping[str, Any], where: str) -> None:
        try:
            check(fields, where)
        except recording.InvalidRecording:
            raise recording.InvalidRecording("it was changed") from None

    monkeypatch.setattr(recording, "_check_chain", silent)
    assert "is refused without naming step 2: it was changed" in found(mugs.SUITE, "replays")


# The score stays hidden.


def _found(message: str = "It.", **data: object) -> Any:
    @tool("read", codes=("order_found",))
    def find_order(desk: Desk, order_id: Id) -> Result:
        """Look up.

        Args:
            order_id: the order.
        """
        items = desk.records("SELECT id AS item_id FROM order_items ORDER BY id")
        return Result(True, "order_found", message, {"items": items, **data})

    return find_order


@pytest.mark.parametrize(
    ("leak", "sentence"),
    [
        (_found(hint={"reward": 0.6}), "take-back step 1: shows a reward"),
        (_found("Good: reward so far 0.60."), "tells of a reward: 'reward so far 0'"),
        (_found("Scored by Mugs.V1."), "shows 'mugs.v1', the rubric's version"),
        (_found(todo=["return-is-open"]), "shows 'return-is-open', the name of a check"),
        (_found("Aim for mug_taken_back."), "shows 'mug_taken_back', the name of a outcome"),
        (_found(email="one@demo.example"), "'one@demo.example', a private value of the case"),
        (
            replace(mugs.close, description="Ends what mugs.v1 judges."),
            "tool close: shows 'mugs.v1', the rubric's version",
        ),
    ],
)
def test_a_leak(leak: Any, sentence: str) -> None:
    assert sentence in found(mugs.suite(leak), "hidden-score")


def test_what_the_agent_wrote_itself_is_no_leak() -> None:
    @tool("talk", codes=("reported",))
    def report(desk: Desk, order_id: Id) -> Result:
        """Report.

        Args:
            order_id: the order.
        """
        return Result(True, "reported", "It is noted.", {"order_id": order_id})

    def parrot(_: Observation) -> mugs.Moves:
        yield call("report", order_id="one@demo.example")

    control = replace(mugs.TASK.controls[1], script=parrot)
    suite = mugs.suite(report, controls=(control,))
    assert check_conformance(suite, [0], ["hidden-score"]) == []


# Rewards.


class Rubric:
    """The suite's rubric with a fault."""

    version = "mugs.v1"

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.count = 0

    def score(self, world: Reader, case: Any) -> Score:
        self.count += 1
        score = mugs.RUBRIC.score(world, case)
        if self.fault == "pays idleness":
            return replace(score, points=score.points or 100)
        if self.fault == "counts":
            return replace(score, points=score.points - self.count % 2)
        if self.fault == "exceeds":
            return replace(score, points=score.points * 2)
        world.rows("UPDATE orders SET status = 'cancelled' WHERE id = 'M-1'")
        return score


def test_a_rubric_that_pays_for_idleness() -> None:
    said = found(mugs.suite(rubric=Rubric("pays idleness")), "null-earns-nothing")
    assert "null with total_cents 1: doing nothing earns 0.01 by mugs.v1" in said


def test_a_rubric_that_counts_how_often_it_is_asked() -> None:
    said = found(mugs.suite(rubric=Rubric("counts")), "pure-scoring")
    assert "take-back end: scored a second time, it earns otherwise" in said
    assert "take-back step 4 close: scored only at the end, the scores was" in said


def test_a_rubric_that_writes() -> None:
    said = found(mugs.suite(rubric=Rubric("writes")), "pure-scoring")
    assert "only-say-so end: scoring changed the world" in said
    assert "scored only at the end, the observation was " in said


def test_a_reward_above_one() -> None:
    said = found(mugs.suite(rubric=Rubric("exceeds")), "controls-earn")
    assert "take-back: earned 2.0 by mugs.v1, which is no reward from -1 to 1" in said


def test_a_control_that_earns_something_else() -> None:
    control = replace(mugs.TASK.controls[0], reward=0.9)
    said = found(mugs.suite(controls=(control,)), "controls-earn")
    assert "take-back: earned 1.0 by mugs.v1 and not 0.9: reward +1.00 by mugs.v1: resolved" in said


def test_a_script_that_breaks() -> None:
    def broken(_: Observation) -> mugs.Moves:
        seen = yield call("find_order", order_id="M-2")
        yield call("report", order_id=seen.data["order_id"])

    control = replace(mugs.TASK.controls[0], script=broken)
    said = found(mugs.suite(controls=(control,)), "controls-earn")
    assert "take-back: raised KeyError('order_id') (at " in said


def test_an_oracle_that_is_refused() -> None:
    suite = mugs.suite(_open_return("refuses"))
    assert "take-back: earned -0.38 by mugs.v1 and not 1.0" in found(suite, "controls-earn")
    said = found(suite, "gates")
    assert "oracle take-back earns -0.38, less than 0.60" in said
    assert "oracle take-back earns -0.38, null null 0.00" in said
    assert "forbidden another-item" not in said


def test_a_forbidden_control_that_pays() -> None:
    oracle = mugs.TASK.controls[0]
    suite = mugs.suite(controls=(oracle, replace(oracle, name="bad", kind="forbidden")))
    assert "forbidden bad earns 1.00, which is not below null 0.00" in found(suite, "gates")


def test_a_near_miss_that_earns_as_much_as_the_oracle() -> None:
    oracle = mugs.TASK.controls[0]
    suite = mugs.suite(controls=(oracle, replace(oracle, name="near", kind="near_miss")))
    assert "oracle take-back earns 1.00, near_miss near 1.00" in found(suite, "gates")


def test_every_check_was_seen_to_fail() -> None:
    """The checks that the tests of this file plant a fault for are all that there are."""
    text = Path(__file__).read_text("utf-8")
    assert [check.name for check in CHECKS if f'"{check.name}"' not in text] == []
