from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deskgym.runstore import Episodes, RunStore
from tests.runstore.store import KINDS, emptied


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database for one test: a new file, or the one that this worker has in the server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/runs.db"
    return request.getfixturevalue("postgres_url")


@pytest.fixture(params=KINDS)
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without a run store, which only this test is in."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/runs.db"
    return request.getfixturevalue("own_database")


@pytest.fixture
def store(url: str) -> Iterator[RunStore]:
    with emptied(url) as made:
        yield made


@pytest.fixture
def episodes(store: RunStore) -> Iterator[Episodes]:
    with store.episodes() as made:
        yield made
