"""The service on either database: steps that come in together, and what one client's end leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deskgym.errors import DatabaseUnavailable, StepConflict, UnknownEpisode
from deskgym.serve import Service, Settings
from deskgym.trajectory import call
from tests.runstore.store import KINDS, SOLUTION, TASK, emptied

READ = call("get_order", order_id="S-410")


@pytest.fixture(params=KINDS)
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    url = f"sqlite:///{tmp_path}/runs.db"
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
    made = Service(Settings(), emptied(url))
    yield made
    made.close()


def test_steps_that_come_in_together_are_each_answered_as_their_own(service: Service) -> None:
    ids = [service.episodes.create(TASK, seed).id for seed in range(12)]

    async def play(id: str) -> float:
        for number, action in enumerate(SOLUTION, start=1):
            observation = await service.step(id, action, number)
            assert observation.step == number
            assert await service.step(id, action, number) == observation
        return (await service.run(service.episodes.score, id)).reward

    async def all_of_them() -> list[Any]:
        wrong = (service.step(ids[0], READ, 40), service.step("nobody", READ, 1))
        return await asyncio.gather(*map(play, ids), *wrong, return_exceptions=True)

    *rewards, conflict, unknown = asyncio.run(all_of_them())
    assert rewards == [1.0] * len(ids)
    assert isinstance(conflict, StepConflict)
    assert isinstance(unknown, UnknownEpisode)


def test_a_step_whose_client_went_away_is_taken_and_disturbs_no_other(service: Service) -> None:
    gone, other = service.episodes.create(TASK).id, service.episodes.create(TASK).id

    async def work() -> int:
        lost = asyncio.create_task(service.step(gone, READ, 1))
        kept = asyncio.create_task(service.step(other, READ, 1))
        await asyncio.sleep(0)
        lost.cancel()
        await asyncio.gather(lost, return_exceptions=True)
        return (await kept).step

    assert asyncio.run(work()) == 1
    assert service.episodes.step(gone, READ, 1).step == 1
    assert service.episodes.state(gone).steps == 1


def test_a_database_that_is_away_fails_the_steps_that_wait_and_no_later_ones(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = service.episodes.create(TASK).id

    def away(*_: object, **__: object) -> Any:
        raise DatabaseUnavailable("the database is away")

    async def step() -> Any:
        return await service.step(id, READ, 1)

    with monkeypatch.context() as patch:
        patch.setattr(service.episodes, "step", away)
        patch.setattr(service.episodes, "step_many", away)
        with pytest.raises(DatabaseUnavailable):
            asyncio.run(step())
    assert asyncio.run(step()).step == 1
