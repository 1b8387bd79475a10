"""What the core offers to the conformance suite, and to any other test."""

import subprocess
import sys

from deskgym import Environment, Observation, Template, call
from deskgym.recording import parse
from deskgym.replay import replay
from deskgym.rubric import Case, Grant, Need
from deskgym.runner import record
from deskgym.store import Engine
from tests.testing import mugs

UNORDERED = "SELECT name FROM policies"
POLICIES = Template({"policies": [("a", 1, "days"), ("b", 2, "days"), ("c", 3, "days")]})


def test_an_engine_can_return_unordered_rows_the_other_way_round() -> None:
    names = [
        [row[0] for row in engine.open(POLICIES).rows(sql)]
        for engine in (Engine(), Engine(reverse_unordered_selects=True))
        for sql in (UNORDERED, f"{UNORDERED} ORDER BY name", "SELECT name FROM before.policies")
    ]
    forward, backward = ["a", "b", "c"], ["c", "b", "a"]
    assert names == [forward, forward, forward, backward, forward, backward]


def test_a_recording_of_a_suite_that_is_not_installed_replays_with_the_suite() -> None:
    with Environment(mugs.SUITE, mugs.TASK) as environment:
        recording = record(environment, mugs.take_back, 3, agent="take-back")
    made = replay(parse(recording.to_json()), suite=mugs.SUITE)
    assert (made.score.reward, made.difference) == (1.0, None)


def test_a_case_gives_the_rows_that_its_rubric_reads() -> None:
    case = Case((), needs=(Need("open_return", "find_order", "order"),))
    assert case.log_rows("Hello.") == {
        "env_need": [("open_return", "find_order", "order")],
        "env_message": [(0, "customer", "Hello.")],
    }
    chosen = (Grant("open_return", "M-1", "M-1-1"), Grant("issue_refund", "M-1", "PAY-A", "", 900))
    rows = case.log_rows("Hello.", chosen)
    assert rows["env_choice"] == [(0, "opening", "M-1", 1)]
    assert rows["env_grant"] == [
        (0, "open_return", "M-1", "M-1-1", "", 0),
        (0, "issue_refund", "M-1", "PAY-A", "", 900),
    ]


def test_every_observation_is_json_even_the_one_after_the_end() -> None:
    def unread(_: Observation) -> mugs.Moves:
        yield call("close")

    with Environment(mugs.SUITE, mugs.TASK) as environment:
        record(environment, unread, agent="closes")
        over = environment.step(call("close"))
    assert over.to_json().startswith(b'{"ok":false,"code":"episode_over"')


def test_importing_deskgym_imports_neither_the_conformance_suite_nor_pytest() -> None:
    program = (
        "import sys, deskgym; assert 'deskgym.testing' not in sys.modules\n"
        "import deskgym.testing; assert 'pytest' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
