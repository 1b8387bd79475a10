from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest

import deskgym
from deskgym import Action, Environment, Observation, UsageError, call
from deskgym.errors import InvalidParameter, UnknownName
from deskgym.store import Engine
from deskgym.store.slot import Slot
from tests.episode import SERVICE, play, service_hash, transcript
from tests.stall import STALL, open_stall

ROOT = Path(__file__).parent.parent
LOOK, SELL = call("look"), call("sell")


@pytest.fixture
def stall() -> Environment:
    return open_stall()


def run(environment: Environment, *actions: Action) -> list[str]:
    return [environment.step(action).code for action in actions]


NEEDS_AN_EPISODE: dict[str, Callable[[Environment], object]] = {
    "step": lambda environment: environment.step(LOOK),
    "score": lambda environment: environment.score(),
    "changes": lambda environment: environment.changes(),
    "observe": lambda environment: environment.observe(),
    "fixture": lambda environment: environment.fixture,
    "world": lambda environment: environment.world,
}


class TestBeforeTheFirstReset:
    @pytest.mark.parametrize("name", NEEDS_AN_EPISODE)
    def test_it_says_to_reset(self, name: str):
        environment = Environment(STALL, STALL.tasks[0])
        with pytest.raises(UsageError, match=r"stall/sell-lamps: there is no episode yet; call re"):
            NEEDS_AN_EPISODE[name](environment)

    def test_there_is_nothing_to_end_or_to_close(self):
        with Environment(STALL, STALL.tasks[0]) as environment:
            assert (environment.steps, environment.ended, environment.done) == ((), None, False)


class TestMake:
    @pytest.mark.parametrize(
        ("task", "message"),
        [
            ("servce/damaged-lamp", r"no suite 'servce'; did you mean 'service'\?"),
            ("service/damaged-lmp", r"no task .*; did you mean 'service/damaged-lamp'\?"),
            ("service", r"no task 'service'"),
            ("", r"no suite ''"),
            ("service/", r"no task 'service/'"),
        ],
    )
    def test_an_unknown_task_is_named_with_the_nearest(self, task: str, message: str):
        with pytest.raises(UnknownName, match=message):
            deskgym.make(task)

    def test_an_unknown_rubric_is_named_with_the_nearest(self):
        with pytest.raises(UnknownName) as caught:
            deskgym.make("service/damaged-lamp", rubric="service-reward.v4")
        assert str(caught.value).startswith(
            "there is no rubric of service 'service-reward.v4'; did you mean 'service-reward.v"
        )
        assert "(known: service-reward.v2, service-reward.v3)" in str(caught.value)

    def test_an_unknown_parameter_is_named_with_the_nearest(self):
        with pytest.raises(InvalidParameter) as caught:
            deskgym.make("service/damaged-lamp", stok=1)
        assert str(caught.value) == (
            "damaged-lamp has no parameter 'stok'; did you mean 'stock'? "
            "(its parameters: stock, total_cents)"
        )

    @pytest.mark.parametrize("stock", [-1, 7, 1.0, True, "1", None])
    def test_a_parameter_out_of_its_limits_is_named_with_them(self, stock: object):
        with pytest.raises(InvalidParameter) as caught:
            deskgym.make("service/damaged-lamp", stock=stock)
        assert str(caught.value) == f"stock must be a whole number from 0 to 6, not {stock!r}"

    def test_a_parameter_reaches_the_fixture(self):
        with deskgym.make("service/damaged-lamp", stock=6) as environment:
            environment.reset()
            rows = environment.step(call("search_inventory")).data["rows"]
        assert {row["sku"]: row["quantity"] for row in rows} == {"LAMP-MOSS": 6, "LAMP-INK": 1}

    def test_it_knows_its_task_suite_and_tools(self):
        environment = deskgym.make("service/damaged-lamp", rubric="service-reward.v2")
        assert environment.id == "service/damaged-lamp"
        assert environment.rubric.version == "service-reward.v2"
        assert environment.tools is environment.suite.toolbox
        assert environment.instructions == environment.suite.instructions


class TestReset:
    @pytest.mark.parametrize("seed", [-1, 2**31, 1.0, True, "0", None])
    def test_a_bad_seed_is_refused_and_the_episode_goes_on(self, stall: Environment, seed: Any):
        stall.step(SELL)
        with pytest.raises(InvalidParameter) as caught:
            stall.reset(seed)
        assert str(caught.value) == f"a seed is a whole number from 0 to 2147483647, not {seed!r}"
        assert stall.step(LOOK).data == {"quantity": 4}

    @pytest.mark.parametrize("seed", [0, 2**31 - 1])
    def test_the_first_and_the_last_seed_are_taken(self, stall: Environment, seed: int):
        stall.reset(seed)
        assert stall.seed == seed
        assert stall.world.rows("SELECT value FROM settings") == [(str(seed),)]

    def test_the_agent_is_told_the_opening(self, stall: Environment):
        expected = Observation(True, "ready", "Sell.", {"goods": [{"sku": "V1"}]}, 0, 12)
        assert stall.reset() == expected
        assert stall.observe() == expected

    def test_everything_of_the_last_episode_is_gone(self, stall: Environment):
        run(stall, SELL, call("err", fault="raise"), call("finish", sure=True))
        assert (len(stall.bugs), stall.ended) == (1, "submitted")
        stall.reset()
        assert (stall.steps, stall.ended, stall.bugs, stall.changes()) == ((), None, [], ())
        assert stall.world.digest() == stall.fixture.template.id
        assert stall.world.log == ()
        assert stall.step(LOOK).data == {"quantity": 5}

    def test_the_same_seed_uses_the_world_again_and_another_does_not(self, stall: Environment):
        world = stall.world
        stall.reset(0)
        assert stall.world is world
        stall.reset(1)
        assert stall.world is not world

    def test_an_agent_that_changes_an_observation_changes_nothing_else(self, stall: Environment):
        stall.reset().data["goods"][0]["sku"] = "mine"  # type: ignore[index]
        assert stall.reset().data == {"goods": [{"sku": "V1"}]}
        assert open_stall().observe().data == {"goods": [{"sku": "V1"}]}
        stall.step(LOOK).data["quantity"] = 100  # type: ignore[index]
        assert stall.observe().data == {"quantity": 5}


class TestStep:
    def test_it_records_action_result_and_changes(self, stall: Environment):
        observation = stall.step(call("sell", pieces=2))
        assert observation == Observation(True, "sold", "Sold.", {"pieces": 2}, 1, 12)
        (step,) = stall.steps
        assert step.action == call("sell", pieces=2)
        assert (step.number, step.result.code, step.ended) == (1, "sold", None)
        assert [change.to_dict()["after"] for change in step.changes] == [
            {"sku": "V1", "quantity": 3, "threshold": 2, "target": 6, "priority": 1,
             "unit_cost_cents": 900}
        ]  # fmt: skip
        assert stall.changes() == step.changes

    def test_the_log_tells_what_was_done(self, stall: Environment):
        pay = call("pay", order_id=410, amount_cents=7)
        run(stall, SELL, pay, call("oversell"), call("steal"), call("pay"))
        stall.score()
        assert stall.world.rows("SELECT * FROM env_call ORDER BY step") == [
            (1, "sell", "write", "sold", 1, 1, "", "", "", 0),
            (2, "pay", "write", "paid", 1, 0, "410", "", "", 7),
            (3, "oversell", "write", "conflict", 0, 0, "", "", "", 0),
            (4, "steal", "unknown", "unknown_tool", 0, 0, "", "", "", 0),
            (5, "pay", "write", "invalid_arguments", 0, 0, "", "", "", 0),
        ]
        assert stall.world.rows("SELECT step FROM env_message") == [(1,)]

    @pytest.mark.parametrize("name", [["t"], {}, 5, None, b"t", "", "\ud800", "x" * 100_000])
    def test_any_name_of_a_tool_is_answered(self, stall: Environment, name: Any):
        assert stall.step(Action(name, {})).code == "unknown_tool"
        stall.score()

    def test_scoring_in_between_changes_nothing(self):
        scored, other = open_stall(), open_stall()
        for action in (SELL, LOOK, call("oversell"), SELL):
            before = scored.score().reward
            assert scored.step(action) == other.step(action)
            assert scored.score().reward >= before
        assert scored.world.digest() == other.world.digest()
        assert scored.score().to_dict() == other.score().to_dict()

    def test_a_score_is_by_the_version_asked_for(self, stall: Environment):
        run(stall, SELL, call("sell", pieces=2))
        assert (stall.score().rubric, stall.score().reward) == ("sales.v2", 0.3)
        assert stall.score("sales.v1").rubric == "sales.v1"
        with pytest.raises(UnknownName, match=r"no rubric of stall 'sales\.v3'; did you mean"):
            stall.score("sales.v3")


class TestBugs:
    def test_a_bug_is_kept_apart_and_the_episode_goes_on(
        self, stall: Environment, caplog: pytest.LogCaptureFixture
    ):
        observation = stall.step(call("err", fault="raise"))
        assert (observation.ok, observation.code) == (False, "internal_error")
        assert "by mistake" not in observation.message
        assert [type(bug) for bug in stall.bugs] == [ZeroDivisionError]
        assert "stall/sell-lamps: tool err failed" in caplog.text
        assert (stall.changes(), stall.done, len(stall.steps)) == ((), False, 1)
        assert stall.step(SELL).ok

    def test_a_result_that_is_no_json_leaves_no_row_behind(self, stall: Environment):
        assert run(stall, call("err", fault="no JSON")) == ["internal_error"]
        assert (stall.changes(), len(stall.steps), len(stall.bugs)) == ((), 1, 1)
        assert stall.world.rows("SELECT quantity FROM inventory") == [(5,)]

    def test_a_refusal_is_no_bug(self, stall: Environment):
        run(stall, call("oversell"), call("pay"), call("steal"), call("sell", pieces=3))
        assert stall.bugs == []

    def test_bugs_of_one_episode_are_not_those_of_another(self, stall: Environment):
        other = open_stall()
        stall.step(call("err", fault="raise"))
        assert (len(stall.bugs), other.bugs) == (1, [])


class TestTheEnd:
    def test_an_end_tool_ends_the_episode(self, stall: Environment):
        assert not stall.step(call("finish", sure=False)).done
        observation = stall.step(call("finish", sure=True))
        assert (observation.done, observation.ended) == (True, "submitted")
        assert (stall.done, stall.ended, stall.steps[-1].ended) == (True, "submitted", "submitted")

    @pytest.mark.parametrize("fault", ["raise", "undeclared refusal", "no JSON refused"])
    def test_a_tool_that_failed_ends_nothing(self, stall: Environment, fault: str):
        assert not stall.step(call("err", fault=fault)).done

    @pytest.mark.parametrize("action", [SELL, call("steal"), Action([], object()), LOOK])  # type: ignore[arg-type]
    def test_after_it_every_action_is_answered_and_none_recorded(
        self, stall: Environment, action: Action
    ):
        run(stall, SELL, call("finish", sure=True))
        before = (stall.steps, stall.changes(), stall.world.log, stall.score().to_dict())
        for _ in range(4):
            observation = stall.step(action)
            assert (observation.ok, observation.code) == (False, "episode_over")
            assert (observation.step, observation.done, observation.ended) == (2, True, "submitted")
        assert (stall.steps, stall.changes(), stall.world.log, stall.score().to_dict()) == before
        assert stall.observe().code == "finished"

    def test_close_ends_an_episode_of_the_service_suite(self):
        with deskgym.make("service/damaged-lamp") as environment:
            environment.reset()
            observation = environment.step(call("close"))
            assert (observation.code, observation.ended) == ("episode_closed", "closed")
            assert orjson.loads(observation.to_json())["data"] == {}
            assert environment.step(call("close")).code == "episode_over"

    def test_the_48th_action_is_the_last_one(self):
        reads = [call("get_order", order_id="S-410"), call("search_inventory")] * 24
        with deskgym.make("service/damaged-lamp") as environment:
            environment.reset()
            seen = [environment.step(action) for action in reads]
        assert [observation.done for observation in seen] == [False] * 47 + [True]
        assert (seen[-1].ok, seen[-1].step, seen[-1].steps_max) == (True, 48, 48)
        assert environment.ended == "action_limit"

    def test_an_end_tool_as_the_last_action_is_its_own_end(self, stall: Environment):
        run(stall, *[LOOK, call("steal")] * 5, LOOK, call("finish", sure=True))
        assert (len(stall.steps), stall.ended) == (12, "submitted")


class TestNoProgress:
    @pytest.mark.parametrize(
        "action", [LOOK, call("steal"), call("pay"), call("oversell"), call("err", fault="raise")]
    )
    def test_three_identical_observations_end_the_episode(self, stall: Environment, action: Action):
        seen = [stall.step(action) for _ in range(3)]
        assert [observation.ended for observation in seen] == [None, None, "no_progress"]
        assert stall.steps[-1].ended == "no_progress"

    def test_actions_may_differ_if_what_is_seen_does_not(self, stall: Environment):
        run(stall, call("steal"), call("rob"), call("burgle"))
        assert stall.ended == "no_progress"

    def test_not_when_rows_changed(self, stall: Environment):
        seen = [stall.step(SELL) for _ in range(4)]
        assert len({observation.message for observation in seen}) == 1
        assert stall.ended is None

    def test_not_when_what_is_seen_differs(self, stall: Environment):
        notes = [call("pay", order_id="O1", amount_cents=1, note=note) for note in "abcde"]
        run(stall, *notes)
        assert stall.ended is None

    def test_not_when_another_observation_lies_between(self, stall: Environment):
        run(stall, LOOK, LOOK, call("steal"), LOOK, LOOK, call("steal"), LOOK)
        assert stall.ended is None
        run(stall, LOOK, LOOK)
        assert stall.ended == "no_progress"

    def test_a_change_starts_the_count_anew(self, stall: Environment):
        run(stall, LOOK, LOOK, SELL, LOOK, LOOK)
        assert stall.ended is None
        assert stall.step(LOOK).ended == "no_progress"


class TestManyEnvironments:
    def test_a_closed_one_keeps_its_trajectory_score_and_place(self, stall: Environment):
        stall.step(SELL)
        stall.close()
        assert (len(stall.steps), stall.score().reward) == (1, 0.1)
        assert stall.step(LOOK).data == {"quantity": 4}

    @pytest.mark.parametrize("slots_max", [1, 2])
    def test_interleaved_ones_do_not_disturb_each_other(self, slots_max: int):
        engine = Engine(slots_max)
        stalls = [open_stall(engine) for _ in range(5)]
        for turn in range(4):
            for number, environment in enumerate(stalls):
                environment.step(SELL if turn < number else LOOK)
        assert [environment.score().reward for environment in stalls] == [0.0, 0.1, 0.2, 0.3, 0.4]

    def test_threads_get_what_one_after_another_gets(self):
        alone = {
            index: transcript(*SERVICE[index % len(SERVICE)], seed=index, engine=Engine(1))
            for index in range(30)
        }
        shared = Engine(slots_max=2)
        with ThreadPoolExecutor(8) as pool:
            threaded = pool.map(
                lambda index: transcript(*SERVICE[index % len(SERVICE)], seed=index, engine=shared),
                alone,
            )
            assert dict(zip(alone, threaded, strict=True)) == alone

    def test_one_environment_moves_from_thread_to_thread(self, stall: Environment):
        with ThreadPoolExecutor(3) as pool:
            for left in (4, 3, 2):
                assert pool.submit(stall.step, SELL).result().ok
                assert pool.submit(stall.step, LOOK).result().data == {"quantity": left}


PLACES = (
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "1", "TZ": "Asia/Kolkata", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "4242", "TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8"},
)


class TestDeterminism:
    def test_every_process_sees_the_same_bytes(self):
        runs = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.episode"],
                cwd=ROOT,
                env={**os.environ, **place},
                stdout=subprocess.PIPE,
                text=True,
            )
            for place in PLACES
        ]
        printed = {process.communicate(timeout=60)[0].strip() for process in runs}
        assert printed == {f"{len(SERVICE)} {service_hash()}"}
        assert len(SERVICE) >= 10

    def test_a_query_without_an_order_would_be_noticed(self, monkeypatch: pytest.MonkeyPatch):
        """SQLite turns unordered scans around, as another plan or engine might."""
        forward = [transcript(*item, engine=Engine(1)) for item in SERVICE]
        load = Slot._load_template

        def turned(slot: Slot, template: Any) -> None:
            load(slot, template)
            slot._unwatched(
                lambda: slot._cursor.execute("PRAGMA reverse_unordered_selects = 1") and None
            )

        monkeypatch.setattr(Slot, "_load_template", turned)
        engine = Engine(1)
        probe = open_stall(engine).world
        assert probe.rows("SELECT id FROM customers") == [("C2",), ("C1",)]
        assert [transcript(*item, engine=engine) for item in SERVICE] == forward

    @pytest.mark.parametrize("index", range(len(SERVICE)))
    def test_a_recorded_trajectory_replays(self, index: int):
        suite, task, control = SERVICE[index]
        with Environment(suite, task, parameters=control.parameters) as first:
            play(first, control.script, seed=3)
            with Environment(suite, task, parameters=control.parameters, engine=Engine(1)) as again:
                again.reset(3)
                for step in first.steps:
                    again.step(step.action)
                    again.close()
                assert again.steps == first.steps
                assert again.score().to_dict() == first.score().to_dict()


def test_importing_deskgym_loads_no_interface_server_or_client():
    heavy = {
        "typer", "click", "rich", "httpx", "fastapi", "starlette", "uvicorn", "mcp", "numpy",
        "sqlalchemy", "psycopg", "ray", "torch", "openai", "anthropic", "asyncio",
        "deskgym.cli", "deskgym.suites",
    }  # fmt: skip
    code = f"import deskgym, sys; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
