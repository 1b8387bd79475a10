"""The client: the same interface, observations and rewards as in this process."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import httpx
import pytest

import deskgym
from deskgym import AnyEnvironment, Client, Control, Suite, Task, call, find_tasks
from deskgym.client import AsyncClient, AsyncServedEnvironment, ServedEnvironment
from deskgym.desk import CustomerReply
from deskgym.errors import (
    AccessRefused,
    EpisodeClosed,
    InvalidParameter,
    ServerFailed,
    ServerUnavailable,
    StepConflict,
    UnknownEpisode,
    UnknownName,
    UsageError,
)
from deskgym.recording import RecordedReply
from deskgym.runner import play
from deskgym.trajectory import Action, Observation
from tests.serve.server import Server

TASK = "service/two-full-captures"
READ = call("get_order", order_id="S-410")
ORACLES = [(suite, task, task.control("oracle")) for suite, task in find_tasks()]


def named(suite: Suite, task: Task) -> str:
    return f"{suite.name}/{task.name}"


def everything(environment: AnyEnvironment, control: Control, seed: int) -> dict[str, Any]:
    """What a training loop gets out of an environment, whichever it is."""
    seen: list[Observation] = []
    play(environment, control.script, seed, after_step=lambda e: seen.append(e.observe()))
    score = environment.score()
    return {
        "id": environment.id,
        "seed": environment.seed,
        "parameters": dict(environment.parameters),
        "observations": [item.to_json() for item in seen],
        "steps": environment.steps,
        "changes": environment.changes(),
        "done": (environment.done, environment.ended),
        "reward": score.reward,
        "score": score.to_dict(),
        "brief": score.brief(),
        "explained": score.explain(),
        "tools": [tool.openai() for tool in environment.tools.values()],
        "mcp": [tool.mcp() for tool in environment.tools.values()],
        "anthropic": [tool.anthropic() for tool in environment.tools.values()],
        "codes": [tool.codes for tool in environment.tools.values()],
        "instructions": environment.instructions,
    }


@pytest.mark.parametrize(("suite", "task", "control"), ORACLES, ids=lambda item: item.name)
def test_a_served_oracle_gets_what_it_gets_in_process(
    client: Client, suite: Suite, task: Task, control: Control
) -> None:
    id, seed, parameters = named(suite, task), 7, dict[str, Any](control.parameters)
    with deskgym.make(id, **parameters) as local:
        expected = everything(local, control, seed)
    with client.make(id, **parameters) as served:
        assert everything(served, control, seed) == expected


def test_both_environments_have_the_interface_that_a_loop_may_rely_on() -> None:
    for kind in (deskgym.Environment, ServedEnvironment):
        for name, member in inspect.getmembers(AnyEnvironment):
            if name.startswith("_") and name not in ("__enter__", "__exit__"):
                continue
            own: Any = getattr(kind, name, None)
            assert isinstance(member, property) or callable(own), name
            if inspect.isfunction(member) and name != "__exit__":
                taken = list(inspect.signature(member).parameters)
                given = list(inspect.signature(own).parameters.values())
                assert [item.name for item in given[: len(taken)]] == taken, name
                # What one of them takes besides, a loop does not have to know.
                assert all(item.default is not item.empty for item in given[len(taken) :]), name


def test_the_two_clients_have_the_same_members() -> None:
    for one, other in ((Client, AsyncClient), (ServedEnvironment, AsyncServedEnvironment)):
        names = {name for name in dir(one) if not name.startswith("_")}
        assert names == {name for name in dir(other) if not name.startswith("_")}
        for name in names:
            first, second = getattr(one, name), getattr(other, name)
            if inspect.isfunction(first):
                taken = list(inspect.signature(first).parameters)
                assert taken == list(inspect.signature(second).parameters), name
                assert inspect.getdoc(first) == inspect.getdoc(second), name


async def play_async(
    environment: AsyncServedEnvironment, control: Control, seed: int
) -> deskgym.Score:
    moves = control.script(await environment.reset(seed))
    try:
        action = next(moves)
        while not environment.done:
            action = moves.send(await environment.step(action))
    except StopIteration:
        pass
    return await environment.score()


def test_the_client_for_asyncio_gets_the_same_rewards(server: Server) -> None:
    async def rewards() -> list[float]:
        async with AsyncClient(server.url) as client:
            environments = [
                (
                    await client.make(named(suite, task), **dict[str, Any](control.parameters)),
                    control,
                )
                for suite, task, control in ORACLES
            ]
            scores = await asyncio.gather(*(play_async(env, c, 3) for env, c in environments))
            for environment, _ in environments:
                assert len(await environment.steps()) > 0
                await environment.close()
            return [score.reward for score in scores]

    assert asyncio.run(rewards()) == [control.reward for _, _, control in ORACLES]


def test_many_environments_are_reset_stepped_scored_and_closed_at_once(client: Client) -> None:
    environments = [client.make(TASK) for _ in range(4)]
    observations = client.reset_all(environments)
    assert [environment.seed for environment in environments] == [0, 1, 2, 3]
    assert observations[1] == deskgym.make(TASK).reset(1)
    wrong = [(environments[2], call("nothing"))]
    answers = client.step_all([(environments[0], READ), (environments[1], READ), *wrong])
    assert [getattr(answer, "code", None) for answer in answers] == [
        "order_found", "order_found", "unknown_tool",
    ]  # fmt: skip
    assert [environment.state()["steps"] for environment in environments] == [1, 1, 1, 0]
    scores = client.score_all(environments)
    assert [getattr(score, "reward", None) for score in scores] == [0.0] * 4
    client.close_all(environments)
    assert {environment.state()["status"] for environment in environments} == {"closed"}
    answers = client.step_all([(environment, READ) for environment in environments])
    assert [type(answer) for answer in answers] == [EpisodeClosed] * 4
    assert client.reset_all([]) == client.step_all([]) == client.score_all([]) == []


def test_a_reset_closes_the_episode_before_and_starts_another(client: Client) -> None:
    environment = client.make(TASK)
    environment.reset(1)
    first = environment.episode
    environment.step(READ)
    environment.reset(2)
    assert environment.episode != first
    assert environment.steps == ()
    assert client.resume(first).state()["status"] == "closed"


def test_an_episode_is_resumed_by_its_id(client: Client) -> None:
    environment = client.make(TASK, total_cents=5_000)
    environment.reset(5)
    environment.step(READ)
    again = client.resume(environment.episode)
    assert (again.seed, again.parameters["total_cents"], len(again.steps)) == (5, 5_000, 1)
    assert again.step(READ).step == 2
    with pytest.raises(StepConflict):
        environment.step(call("list_order_payments", order_id="S-410"))
    assert environment.observe().step == 2
    assert environment.step(call("list_order_payments", order_id="S-410")).step == 3


def test_after_the_end_a_step_changes_nothing_as_in_process(client: Client) -> None:
    taken: list[list[Observation]] = []
    for environment in (client.make(TASK), deskgym.make(TASK)):
        environment.reset(0)
        taken.append([environment.step(call("nothing")) for _ in range(5)])
        assert environment.done
        assert len(environment.steps) == 3
    assert taken[0] == taken[1]
    assert [item.code for item in taken[0]][3:] == ["episode_over"] * 2


@pytest.mark.parametrize(
    "action",
    [
        Action("", None),
        Action("get_order", [1, 2]),
        Action("get_order", {"order_id": float("nan")}),
        Action("get_order", {"order_id": "\ud800"}),
        Action("get_order", {"order_id": 2**70}),
        Action("get_order", {"order_id": "x" * 40_000}),
        Action(5, {}),  # type: ignore[arg-type]
        Action("\x00\u202e", {"\x00": ["\x00"]}),
    ],
    ids=range(8),
)
def test_whatever_an_agent_sends_is_answered_as_in_process(client: Client, action: Action) -> None:
    served, local = client.make(TASK), deskgym.make(TASK)
    served.reset(0)
    local.reset(0)
    assert served.step(action) == local.step(action)
    assert served.steps == local.steps


def raised(work: Callable[[], object]) -> Exception:
    try:
        work()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        (UnknownName, lambda make: make("servise/damaged-lamp")),
        (UnknownName, lambda make: make("service/damaged-lmp")),
        (UnknownName, lambda make: make("service")),
        (UnknownName, lambda make: make(TASK, rubric="v9")),
        (InvalidParameter, lambda make: make(TASK, price=1)),
        (InvalidParameter, lambda make: make(TASK, stock=99)),
        (InvalidParameter, lambda make: make(TASK, stock="1")),
        (InvalidParameter, lambda make: make(TASK).reset(2**31)),
        (InvalidParameter, lambda make: make(TASK).reset(-1)),
        (UsageError, lambda make: make(TASK).step(READ)),
        (UsageError, lambda make: make(TASK).score()),
    ],
    ids=range(11),
)
def test_a_callers_mistake_is_the_same_error_as_in_process(
    client: Client, kind: type[Exception], make: Callable[[Any], object]
) -> None:
    served, local = raised(lambda: make(client.make)), raised(lambda: make(deskgym.make))
    assert isinstance(served, kind)
    assert isinstance(local, kind)


def test_recordings_are_found_imported_and_replayed(client: Client, server: Server) -> None:
    environment = client.make(TASK, agent="archivist")
    play(environment, next(c for s, t, c in ORACLES if named(s, t) == TASK).script, 11)
    recording = environment.recording()
    environment.close()
    page = client.recordings(agent="archivist", limit=1)
    assert page.items[0]["reward"] == 1.0
    assert client.recording(page.items[0]["id"]).hash == recording.hash
    assert client.import_recording(recording) == page.items[0]["id"]
    replayed = client.replay(page.items[0]["id"])
    assert replayed.same
    assert replayed.score.reward == 1.0
    other = client.replay(page.items[0]["id"], "service-reward.v2")
    assert other.rescored == "service-reward.v3"
    with pytest.raises(UnknownName):
        client.recording("nothing")


def test_the_catalogue_is_the_one_of_this_process(client: Client) -> None:
    assert [suite.name for suite in client.suites()] == list(deskgym.suite_names())
    assert [task.id for task in client.tasks()] == [named(s, t) for s, t in find_tasks()]
    assert [task.id for task in client.tasks("tickets")] == [
        named(s, t) for s, t in find_tasks(["tickets"])
    ]
    assert list(client.tools("service")) == list(deskgym.load_suite("service").toolbox)
    assert client.version()["name"] == "deskgym"


def test_a_server_that_is_not_there_is_named(server: Server) -> None:
    unreachable = pytest.raises(ServerUnavailable, match=r"http://127.0.0.1:9 cannot be reached")
    with Client("http://127.0.0.1:9", retry_s=0) as nobody, unreachable:
        nobody.version()
    for url in ("127.0.0.1:8000", "ftp://127.0.0.1", "http://", "nonsense"):
        with pytest.raises(UsageError, match="no URL"):
            Client(url)
    with pytest.raises(UsageError, match="printable ASCII"):
        Client(server.url, key="two words")
    with Client(server.url, key="not-the-key") as stranger, pytest.raises(AccessRefused):
        stranger.version()
    with Client(f"{server.url}/elsewhere", retry_s=0) as lost, pytest.raises(UsageError):
        lost.version()


def test_what_is_no_answer_of_a_server_is_told_apart() -> None:
    def client_of(answer: httpx.Response) -> Client:
        made = Client(retry_s=0)
        made._http = httpx.Client(  # type: ignore[misc]
            transport=httpx.MockTransport(lambda request: answer), base_url="http://x/api"
        )
        return made

    for answer, kind in (
        (httpx.Response(200, text="<html>"), ServerFailed),
        (httpx.Response(200, json={"other": 1}), ServerFailed),
        (httpx.Response(500, text="oops"), ServerFailed),
        (httpx.Response(502, text="bad gateway"), ServerUnavailable),
        (httpx.Response(404, json={"code": "unknown_episode", "detail": "x"}), UnknownEpisode),
    ):
        with client_of(answer) as client, pytest.raises(kind):
            client.suites()


def test_only_what_is_safe_to_repeat_is_repeated() -> None:
    for repeatable, error, attempts in (
        (True, httpx.ReadError("cut"), 3),
        (False, httpx.ReadError("cut"), 1),
        (False, httpx.ConnectError("refused"), 3),
    ):
        made: list[httpx.Request] = []

        def answer(
            request: httpx.Request,
            made: list[httpx.Request] = made,
            error: httpx.TransportError = error,
        ) -> httpx.Response:
            made.append(request)
            if len(made) < 3:
                raise error
            return httpx.Response(200, json={"id": "e", "token": "t"})

        client = Client(retry_s=5)
        client._http = httpx.Client(  # type: ignore[misc]
            transport=httpx.MockTransport(answer), base_url="http://x/api"
        )
        from deskgym.client import calls

        one: Any = calls.version() if repeatable else calls.token("e")
        if attempts == 1:
            with pytest.raises(ServerUnavailable):
                client.call(one)
        else:
            client.call(one)
        assert len(made) == attempts
        assert len({request.content for request in made}) == 1
        client.close()


def test_a_model_speaks_for_the_customer_of_a_served_episode(client: Client) -> None:
    action = call(
        "propose", remedy="refund", order_id="S-410", payment_id="PAY-A", amount_cents=4800
    )
    reply = CustomerReply("Hm. All right, but quickly.", accepts=True)
    here = deskgym.make("service/damaged-lamp")
    there = client.make("service/damaged-lamp")
    for environment in (here, there):
        environment.reset(seed=0)
        asked = environment.question(action)
        assert asked is not None
        assert asked.proposal
        assert "$48.00" in asked.words
        assert environment.question(call("get_order", order_id="S-410")) is None
        assert environment.steps == ()
    assert there.step(action, reply) == here.step(action, reply)
    assert here.steps[0].reply == there.steps[0].reply == reply
    assert there.recording().steps[0].reply == RecordedReply(**reply._asdict())
    with pytest.raises(UsageError, match="reply"):
        there.step(action, CustomerReply(" "))
    assert len(there.steps) == 1
    there.close()
