"""A customer who is no script: what it said is stored with the action and comes back with it."""

from __future__ import annotations

import orjson
import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import text

import deskgym
from deskgym.desk import CustomerReply
from deskgym.errors import DatabaseDamaged, DeskgymError, UnknownEpisode, UsageError
from deskgym.replay import replay
from deskgym.runstore import Episodes, NextStep, RunStore, open_run_store
from deskgym.runstore.address import parse_url
from deskgym.runstore.chain import StoredStep, opening_chain, stored_step
from deskgym.runstore.database import Database
from deskgym.runstore.migrate import migrate, migrations, revision
from deskgym.runstore.tables import SCHEMA, actions
from deskgym.runstore.upkeep import check
from deskgym.store import default_engine
from deskgym.trajectory import Action, Observation, call
from tests.runstore.store import REFUND, SOLUTION, TASK

DECLINES = CustomerReply("No, give me a \N{SNOWMAN} instead.")
ACCEPTS = CustomerReply("Fine.", accepts=True)
LEAVES = CustomerReply("Bye.", done=True)
ASKED: list[tuple[Action, CustomerReply | None]] = [
    (SOLUTION[0], ACCEPTS),  # asks no customer
    (call("propose", remedy="refund", **REFUND), DECLINES),
    (call("issue_refund", **REFUND, reason="charged twice"), None),
    (call("propose", remedy="refund", **REFUND), ACCEPTS),
    (call("issue_refund", **REFUND, reason="charged twice"), None),
    (call("message", text="Anything else?"), LEAVES),
]


def in_process() -> tuple[list[bytes], dict[str, object], str]:
    """What the same episode shows, earns and leaves without a store."""
    with deskgym.make(TASK) as environment:
        environment.reset(0)
        seen = [environment.step(action, reply).to_json() for action, reply in ASKED]
        assert environment.ended == "customer_done"
        return seen, environment.score().to_dict(), environment.world.digest()


def test_replies_come_back_in_another_worker_and_in_the_recording(
    store: RunStore, episodes: Episodes
) -> None:
    seen, score, digest = in_process()
    id = episodes.create(TASK).id
    for number, (action, reply) in enumerate(ASKED, start=1):
        with store.episodes() as other:  # who has nothing in memory, and so rebuilds it
            assert other.step(id, action, number, reply=reply).to_json() == seen[number - 1]
    with store.episodes() as other:
        assert other.score(id).to_dict() == score
        recording = other.recording(id)
    assert [step.reply and step.reply.reply for step in recording.steps] == [
        None, DECLINES, None, ACCEPTS, None, LEAVES
    ]  # fmt: skip
    assert recording.footer.digest == digest == episodes.state(id).digest
    assert replay(recording).difference is None
    assert check(store.database).holds


def test_a_batch_takes_replies(episodes: Episodes) -> None:
    seen, *_ = in_process()
    ids = [episodes.create(TASK).id for _ in range(3)]
    for number, (action, reply) in enumerate(ASKED, start=1):
        answers = episodes.step_many([NextStep(id, action, number, reply) for id in ids])
        assert [a.to_json() for a in answers if isinstance(a, Observation)] == [
            seen[number - 1]
        ] * 3


def test_a_repeated_step_keeps_the_reply_that_was_stored(episodes: Episodes) -> None:
    id = episodes.create(TASK).id
    first = episodes.step(id, ASKED[1][0], 1, reply=DECLINES)
    assert episodes.step(id, ASKED[1][0], 1, reply=ACCEPTS) == first
    with episodes.environment(id) as environment:
        assert [step.reply for step in environment.steps] == [DECLINES]


def test_a_question_is_what_the_customer_would_hear_and_takes_no_step(episodes: Episodes) -> None:
    id = episodes.create(TASK).id
    asked = episodes.question(id, call("propose", remedy="refund", **REFUND))
    assert asked is not None
    assert asked.proposal
    assert "48.00" in asked.words
    assert episodes.question(id, SOLUTION[0]) is None
    assert episodes.state(id).steps == 0
    with pytest.raises(UnknownEpisode):
        episodes.question("nowhere", SOLUTION[0])


def test_a_reply_that_cannot_be_recorded_takes_no_step(episodes: Episodes) -> None:
    one, two = episodes.create(TASK).id, episodes.create(TASK).id
    with pytest.raises(UsageError, match="reply"):
        episodes.step(one, ASKED[1][0], 1, reply=CustomerReply(" "))
    with pytest.raises(UsageError, match="reply"):
        episodes.step_many(
            [NextStep(two, SOLUTION[0]), NextStep(one, SOLUTION[0], None, CustomerReply("\ud800"))]
        )
    assert [episodes.state(id).steps for id in (one, two)] == [0, 0]


@pytest.mark.parametrize("other", [None, '{"message":"Fine.","accepts":true,"done":false}', "{"])
def test_a_reply_that_was_changed_in_the_database_is_found(
    store: RunStore, episodes: Episodes, other: str | None
) -> None:
    id = episodes.create(TASK).id
    episodes.step(id, ASKED[1][0], 1, reply=DECLINES)
    with store.database.begin() as connection:
        connection.execute(actions.update().values(reply=other))
    assert check(store.database).problems == (
        f"step 1 of the episode {id} was changed after it was stored",
    )
    with store.episodes() as late, pytest.raises(DatabaseDamaged, match=r"step 1 .* was changed"):
        late.observe(id)


def test_a_reply_that_was_sealed_again_is_no_reply(store: RunStore, episodes: Episodes) -> None:
    """Whoever can write the database can seal it: what comes out is an error all the same."""
    id = episodes.create(TASK).id
    episodes.step(id, ASKED[1][0], 1, reply=DECLINES)
    with episodes.environment(id) as environment:
        start = opening_chain(environment)
        good = stored_step(environment.steps[0], start)
    for reply in ("{", "[]", '{"message": 1}', '{"message":"","accepts":false,"done":false}'):
        broken = good._replace(reply=reply).sealed_after(start)
        assert broken.holds_after(start)
        with store.database.begin() as connection:
            values = {"reply": reply, "chain": broken.chain}
            connection.execute(actions.update().values(values))
        with store.episodes() as late, pytest.raises(DatabaseDamaged, match="step 1"):
            late.observe(id)


def older(database: Database) -> None:
    """A database of the first schema."""
    with database.begin() as connection:
        if database.postgres:
            connection.execute(text(f"CREATE SCHEMA {SCHEMA}"))
            connection.execute(text(f"SET LOCAL search_path TO {SCHEMA}"))
        config: Config = migrations()
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        if not database.postgres:
            connection.execute(text("PRAGMA application_id = 0x44534B47"))


def test_an_episode_of_the_first_schema_goes_on_after_the_migration(fresh: str) -> None:
    database = Database(parse_url(fresh))
    older(database)
    assert revision(database) == "0001"
    assert not check(database).holds
    with deskgym.make(TASK) as environment:
        environment.reset(0)
        environment.step(SOLUTION[0])
        chain = opening_chain(environment)
        step: StoredStep = stored_step(environment.steps[0], chain)
    table = f"{SCHEMA}." if database.postgres else ""
    with database.begin() as connection:
        connection.execute(
            text(
                f"INSERT INTO {table}episodes (id, suite, task, seed, parameters, rubric, agent,"
                " status, owner, chain, version, created_ms) VALUES ('old', 'service', :task, 0,"
                " :parameters, :rubric, 'agent', 'live', 'nobody', :chain, '0', 0)"
            ),
            {
                "task": TASK.partition("/")[2],
                "parameters": orjson.dumps(dict(environment.parameters)).decode(),
                "rubric": environment.rubric.version,
                "chain": chain,
            },
        )
        connection.execute(
            text(
                f"INSERT INTO {table}actions (episode, number, action, result, changes, ended,"
                " chain, worker, created_ms) VALUES"
                " ('old', 1, :action, :result, :changes, NULL, :chain, 'nobody', 0)"
            ),
            {name: getattr(step, name) for name in ("action", "result", "changes", "chain")},
        )
    assert migrate(database) == "0001"
    database.close()
    with open_run_store(fresh, engine=default_engine()) as store, store.episodes() as episodes:
        assert check(store.database).holds
        for number, action in enumerate(SOLUTION[1:], start=2):
            episodes.step("old", action, number)
        assert episodes.close("old").reward == 1.0


def test_many_episodes_are_closed_together_and_each_answer_is_its_own(
    store: RunStore, episodes: Episodes
) -> None:
    solved, begun, ended, closed, taken = (episodes.create(TASK).id for _ in range(5))
    for number, action in enumerate(SOLUTION, start=1):
        for id in (solved, taken):
            episodes.step(id, action, number)
    for _ in range(3):
        episodes.step(ended, call("nothing"))
    before = episodes.close(closed)
    with store.episodes() as other:
        other.observe(taken)
        other.step(begun, SOLUTION[0], 1)  # another worker owns this one
        ids = [solved, "nowhere", begun, ended, closed, solved, taken]
        answers = episodes.close_many(ids)
    assert isinstance(answers[1], UnknownEpisode)
    states = [answer for answer in answers if not isinstance(answer, DeskgymError)]
    assert [(state.id, state.status, state.steps) for state in states] == [
        (solved, "closed", 5), (begun, "closed", 1), (ended, "ended", 3), (closed, "closed", 0),
        (solved, "closed", 5), (taken, "closed", 5),
    ]  # fmt: skip
    assert states == [episodes.state(state.id) for state in states]
    assert [state.reward for state in states] == [1.0, 0.0, 0.0, 0.0, 1.0, 1.0]
    assert states[3] == before
    assert all(store.recordings.has_episode(state.id) for state in states)
    assert episodes.in_memory() == 0
    assert episodes.close_many([]) == []
    assert episodes.close_many([solved]) == [states[0]]


def test_an_episode_that_was_taken_meanwhile_is_closed_as_it_is_stored(
    store: RunStore, episodes: Episodes
) -> None:
    """The first worker still holds it in memory, and believes that it owns it."""
    id = episodes.create(TASK).id
    episodes.step(id, SOLUTION[0], 1)
    with store.episodes() as other:
        for number, action in enumerate(SOLUTION[1:], start=2):
            other.step(id, action, number)
        (state,) = episodes.close_many([id])
        assert state == other.state(id)
    assert not isinstance(state, DeskgymError)
    assert (state.steps, state.reward) == (5, 1.0)


def test_an_ended_episode_whose_last_step_is_gone_is_damaged(
    store: RunStore, episodes: Episodes
) -> None:
    id = episodes.create(TASK).id
    for _ in range(3):
        episodes.step(id, call("nothing"))
    with store.database.begin() as connection:
        connection.execute(actions.delete().where(actions.c.number == 3))
    with store.episodes() as late, pytest.raises(DatabaseDamaged, match="after 3 steps, and 2"):
        late.recording(id)
