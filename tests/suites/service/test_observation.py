"""Every action is answered with an observation, and every observation is JSON."""

import orjson
import pytest

from deskgym import Action, call
from tests.suites.service.play import MISSING, ORDER, play, start

LAMP = "damaged-lamp"


@pytest.mark.parametrize(
    "name", [None, 5, 1.5, True, b"get_order", ["get_order"], {"name": "get_order"}], ids=repr
)
def test_a_tool_name_that_is_no_text_is_an_unknown_tool(name):
    env = play(LAMP, Action(name, {"order_id": ORDER}))
    assert env.observe().code == "unknown_tool"
    assert env.score().reward == 0


def test_an_observation_without_data_is_json_too():
    env = start(LAMP)
    seen = env.step(call("get_order", order_id=MISSING))
    assert seen.to_dict()["data"] == {}
    assert seen.to_json() == env.observe().to_json()
    assert orjson.loads(seen.to_json())["code"] == "order_not_found"
