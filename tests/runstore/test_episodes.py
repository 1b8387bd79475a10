"""Live episodes: stored before they are acknowledged, answered again, taken over, closed."""

from __future__ import annotations

import pytest

import deskgym
from deskgym.errors import (
    EpisodeClosed,
    InvalidParameter,
    StepConflict,
    TooManyEpisodes,
    UnknownEpisode,
    UnknownName,
    UsageError,
)
from deskgym.replay import replay
from deskgym.runstore import EpisodeFilter, Episodes, NewEpisode, NextStep, RunStore, tables
from deskgym.trajectory import Observation, call
from tests.runstore.store import SOLUTION, TASK, solved


def observed(count: int) -> bytes:
    """What an episode in process shows after so many actions."""
    with deskgym.make(TASK) as environment:
        environment.reset(0)
        for action in SOLUTION[:count]:
            environment.step(action)
        return environment.observe().to_json()


def test_a_stored_episode_answers_and_earns_as_one_in_process(episodes: Episodes) -> None:
    made = episodes.create(TASK, seed=0)
    with deskgym.make(TASK) as environment:
        assert made.observation.to_json() == environment.reset(0).to_json()
        for number, action in enumerate(SOLUTION, start=1):
            stored = episodes.step(made.id, action, number)
            assert stored.to_json() == environment.step(action).to_json()
        assert episodes.score(made.id).to_dict() == environment.score().to_dict()
        closed = episodes.close(made.id)
        assert closed.digest == environment.world.digest()
    assert closed.reward == 1.0
    assert (closed.status, closed.steps, closed.outcome) == ("closed", 5, "reward")


def test_a_repeated_step_is_answered_and_not_repeated(episodes: Episodes) -> None:
    id = solved(episodes, count=3)
    first = episodes.step(id, SOLUTION[3], 4)
    for _ in range(3):
        assert episodes.step(id, SOLUTION[3], 4).to_json() == first.to_json()
    assert episodes.state(id).steps == 4
    with episodes.environment(id) as environment:
        assert len(environment.changes()) == 1


def test_a_repeated_step_is_answered_after_closing(episodes: Episodes) -> None:
    id = solved(episodes)
    episodes.close(id)
    assert episodes.step(id, SOLUTION[1], 2).to_json() == observed(2)


def test_another_action_under_a_used_number_is_a_conflict(episodes: Episodes) -> None:
    id = solved(episodes, count=2)
    with pytest.raises(StepConflict, match="another action") as caught:
        episodes.step(id, SOLUTION[3], 2)
    assert caught.value.expected == 3
    assert episodes.state(id).steps == 2


@pytest.mark.parametrize("number", [0, -1, 4, 2**70])
def test_a_number_out_of_turn_is_a_conflict(episodes: Episodes, number: int) -> None:
    id = solved(episodes, count=2)
    with pytest.raises(StepConflict, match=r"next step of .* is 3"):
        episodes.step(id, SOLUTION[2], number)
    assert episodes.state(id).steps == 2


def test_another_worker_goes_on_with_an_episode_and_the_first_one_follows(
    store: RunStore, episodes: Episodes
) -> None:
    id = solved(episodes, count=2)
    with store.episodes() as other:
        assert other.worker != episodes.worker
        assert other.observe(id).to_json() == observed(2)
        other.step(id, SOLUTION[2], 3)
        assert episodes.step(id, SOLUTION[2], 3).step == 3
        assert episodes.step(id, SOLUTION[3]).step == 4
        assert other.step(id, SOLUTION[4], 5).step == 5
        assert episodes.score(id).reward == other.score(id).reward == 1.0
        assert episodes.state(id).steps == 5


def test_a_worker_that_was_overtaken_takes_its_unnumbered_step_once(
    store: RunStore, episodes: Episodes
) -> None:
    id = solved(episodes, count=1)
    with store.episodes() as other:
        other.step(id, SOLUTION[1])
        assert episodes.step(id, SOLUTION[2]).step == 3
    taken = [step.action for step in episodes.recording(id).steps]
    assert taken == [action.to_dict() for action in SOLUTION[:3]]


def test_more_episodes_than_fit_in_memory_go_on_where_they_were(store: RunStore) -> None:
    with store.episodes(environments_max=2) as few:
        ids = [few.create(TASK).id for _ in range(5)]
        for number, action in enumerate(SOLUTION, start=1):
            for id in ids:
                assert few.step(id, action, number).step == number
        assert few.in_memory() <= 2
        assert [few.score(id).reward for id in ids] == [1.0] * 5


def test_an_ended_episode_stores_its_reward_with_its_last_step(episodes: Episodes) -> None:
    id = episodes.create(TASK).id
    last = [episodes.step(id, call("nothing")) for _ in range(3)][-1]
    assert last.ended == "no_progress"
    state = episodes.state(id)
    assert (state.status, state.ended, state.steps) == ("ended", "no_progress", 3)
    assert state.reward == episodes.score(id).reward
    over = episodes.step(id, call("get_order", order_id="S-410"), 4)
    assert (over.code, over.step) == ("episode_over", 3)
    assert episodes.state(id).steps == 3
    assert episodes.close(id).status == "ended"


def test_a_closed_episode_takes_no_action(store: RunStore, episodes: Episodes) -> None:
    id = solved(episodes, count=2)
    with store.episodes() as other:
        other.observe(id)
        episodes.close(id)
        for worker in (episodes, other):
            with pytest.raises(EpisodeClosed):
                worker.step(id, SOLUTION[2], 3)
    assert episodes.close(id) == episodes.state(id)


@pytest.mark.parametrize(
    "id", ["nowhere", "", "x" * 500, "a\0b", "'; DROP TABLE episodes; --", "\ud800"]
)
def test_an_unknown_episode_is_named(episodes: Episodes, id: str) -> None:
    for use in (
        episodes.observe,
        episodes.score,
        episodes.state,
        episodes.close,
        episodes.recording,
        episodes.issue_token,
        lambda id: episodes.step(id, SOLUTION[0]),
    ):
        with pytest.raises(UnknownEpisode):
            use(id)
    assert not episodes.verify_token(id, "token")
    assert episodes.in_memory() == 0


def test_creating_again_with_an_id_makes_no_second_episode(
    store: RunStore, episodes: Episodes
) -> None:
    first = episodes.create(TASK, id="mine-1", holder="lab")
    episodes.step(first.id, SOLUTION[0])
    again = episodes.create(TASK, id="mine-1", holder="lab")
    assert again.observation.to_json() == first.observation.to_json()
    assert episodes.state("mine-1").steps == 1
    with pytest.raises(UsageError, match="another one"):
        episodes.create(TASK, 1, id="mine-1", holder="lab")
    with pytest.raises(UsageError, match="another one"):
        episodes.create(TASK, id="mine-1", holder="another")
    with pytest.raises(UsageError, match="another one"):
        episodes.create(TASK, id="mine-1", holder="lab", parameters={"stock": 0})
    assert len(store.list_episodes().items) == 1


@pytest.mark.parametrize("id", ["", "a b", "-a", "é", "x" * 65, "a/b", "a\n"])
def test_a_malformed_id_is_refused(episodes: Episodes, id: str) -> None:
    with pytest.raises(UsageError, match="an episode's id is"):
        episodes.create(TASK, id=id)


def test_a_wrong_episode_is_refused_and_nothing_is_stored(
    store: RunStore, episodes: Episodes
) -> None:
    with pytest.raises(UnknownName):
        episodes.create("service/nothing")
    with pytest.raises(InvalidParameter):
        episodes.create(TASK, seed=-1)
    with pytest.raises(InvalidParameter):
        episodes.create_many([NewEpisode(TASK), NewEpisode(TASK, parameters={"stok": 1})])
    with pytest.raises(UsageError, match="the same id"):
        episodes.create_many([NewEpisode(TASK, id="a"), NewEpisode(TASK, id="a")])
    assert store.list_episodes().items == ()


def test_many_steps_are_stored_together_and_answered_in_order(episodes: Episodes) -> None:
    ids = [made.id for made in episodes.create_many([NewEpisode(TASK)] * 4)]
    for number, action in enumerate(SOLUTION, start=1):
        answers = episodes.step_many([NextStep(id, action, number) for id in ids])
        shown = [answer.to_json() for answer in answers if isinstance(answer, Observation)]
        assert shown == [observed(number)] * 4
    assert [episodes.score(id).reward for id in ids] == [1.0] * 4


def test_a_wrong_step_of_a_batch_disturbs_no_other(store: RunStore, episodes: Episodes) -> None:
    one, two, three = (solved(episodes, count=2) for _ in range(3))
    episodes.close(three)
    with store.episodes() as other:
        other.step(two, SOLUTION[2])
    answers = episodes.step_many(
        [
            NextStep(one, SOLUTION[2], 3),
            NextStep("nowhere", SOLUTION[0], 1),
            NextStep(one, SOLUTION[3], 4),
            NextStep(two, SOLUTION[2], 3),
            NextStep(three, SOLUTION[2], 3),
            NextStep(one, SOLUTION[0], 4),
            NextStep(two, SOLUTION[3]),
        ]
    )
    kinds = [answer.step if isinstance(answer, Observation) else type(answer) for answer in answers]
    assert kinds == [3, UnknownEpisode, 4, 3, EpisodeClosed, StepConflict, 4]


def test_an_episode_that_ends_in_a_batch_is_ended(episodes: Episodes) -> None:
    ids = [made.id for made in episodes.create_many([NewEpisode(TASK)] * 2)]
    answers = [episodes.step_many([NextStep(id, call("nothing")) for id in ids]) for _ in range(3)]
    assert all(isinstance(answer, Observation) and answer.done for answer in answers[-1])
    assert [episodes.state(id).status for id in ids] == ["ended", "ended"]
    assert episodes.state(ids[0]).reward == episodes.score(ids[0]).reward


def test_the_recording_of_a_closed_episode_is_stored_and_replays(
    store: RunStore, episodes: Episodes
) -> None:
    id = solved(episodes)
    before = episodes.recording(id)
    assert store.recordings.count() == 0
    episodes.close(id)
    assert [item.episode for item in store.recordings.list().items] == [id]
    recording = episodes.recording(id)
    assert recording.to_json() == before.to_json()
    assert replay(recording).difference is None
    assert recording.reward == 1.0


def test_without_recording_a_close_stores_none_and_asking_does(store: RunStore) -> None:
    with store.episodes(record=False) as episodes:
        id = solved(episodes)
        episodes.close(id)
        assert store.recordings.count() == 0
        assert episodes.recording(id).reward == 1.0
        assert store.recordings.count() == 1


def test_limits_on_live_episodes_count_the_whole_database(store: RunStore) -> None:
    one = store.episodes(live_max=3, live_max_per_holder=2)
    two = store.episodes(live_max=3, live_max_per_holder=2)
    first = one.create(TASK, holder="a")
    two.create(TASK, holder="a")
    with pytest.raises(TooManyEpisodes, match="2 of your episodes"):
        one.create(TASK, holder="a")
    one.create(TASK, holder="b")
    with pytest.raises(TooManyEpisodes, match="3 episodes are live"):
        two.create(TASK, holder="c")
    two.close(first.id)
    two.create(TASK, holder="a")
    assert (one.count_live(), one.count_live("a"), one.count_live("c")) == (3, 2, 0)


def test_idle_episodes_expire_and_busy_ones_do_not(store: RunStore) -> None:
    now = [1_000.0]
    timed = RunStore(store.database, clock=lambda: now[0])
    episodes = timed.episodes()
    idle, busy = solved(episodes, count=1), solved(episodes, count=1)
    ended = episodes.create(TASK).id
    for _ in range(3):
        episodes.step(ended, call("nothing"))
    now[0] += 60
    episodes.step(busy, SOLUTION[1])
    assert episodes.expire(idle_s=60.1) == []
    with timed.episodes() as other:
        assert other.expire(idle_s=59) == [idle]
        assert other.expire(idle_s=59) == []
    assert episodes.state(idle).status == "expired"
    assert [episodes.state(id).status for id in (busy, ended)] == ["live", "ended"]
    with pytest.raises(EpisodeClosed, match="idle"):
        episodes.step(idle, SOLUTION[1])


def test_a_token_opens_its_own_episode_alone(store: RunStore, episodes: Episodes) -> None:
    one = episodes.create(TASK, with_token=True)
    two = episodes.create(TASK, with_token=True)
    bare = episodes.create(TASK)
    assert one.token is not None
    assert bare.token is None
    with store.episodes() as other:
        assert other.verify_token(one.id, one.token)
        assert not other.verify_token(two.id, one.token)
        assert not other.verify_token(bare.id, one.token)
        assert not other.verify_token(bare.id, "")
        assert not other.verify_token(one.id, "é\ud800")
        renewed = other.issue_token(one.id)
    assert not episodes.verify_token(one.id, one.token)
    assert episodes.verify_token(one.id, renewed)


def test_episodes_are_listed_by_what_they_are_in_pages(store: RunStore, episodes: Episodes) -> None:
    ids = [episodes.create(TASK, seed=seed, agent=f"agent-{seed % 2}").id for seed in range(7)]
    episodes.create("tickets/easy")
    service = EpisodeFilter(suite="service")
    page = store.list_episodes(service, limit=3)
    seen = [item.id for item in page.items]
    while page.next is not None:
        page = store.list_episodes(service, limit=3, page=page.next)
        seen += [item.id for item in page.items]
    assert sorted(seen) == sorted(ids)
    some = store.list_episodes(EpisodeFilter(task=TASK, agent="agent-1", status="live"))
    assert {item.seed for item in some.items} == {1, 3, 5}


def test_a_damaged_idle_episode_does_not_keep_the_others_open(
    store: RunStore, caplog: pytest.LogCaptureFixture
) -> None:
    now = [1_000.0]
    timed = RunStore(store.database, clock=lambda: now[0])
    with timed.episodes() as episodes:
        damaged, idle = solved(episodes, count=1), solved(episodes, count=1)
        with store.database.begin() as connection:
            changed = tables.episodes.update().where(tables.episodes.c.id == damaged)
            connection.execute(changed.values(seed=1))
    now[0] += 60
    with timed.episodes() as episodes:
        assert episodes.expire(idle_s=59) == [idle]
        assert episodes.state(damaged).status == "live"
    assert damaged in caplog.text
