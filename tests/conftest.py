import os
from collections.abc import Iterator
from uuid import uuid4

import pytest
from hypothesis import settings

from deskgym.store.postgres.engine import PostgresEngine
from tests.postgres import database, serving

settings.register_profile("default", max_examples=50, deadline=None)
settings.register_profile(
    "ci", max_examples=50, deadline=None, derandomize=True, database=None, print_blob=True
)
settings.register_profile("long", max_examples=5_000, deadline=None)

_profile = "ci" if os.environ.get("CI") == "true" else "default"
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", _profile))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of the run's private PostgreSQL server."""
    with serving(os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid4().hex)) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL of a database of this worker's own, kept through the run."""
    with database(postgres_server) as url:
        yield url


@pytest.fixture
def own_database(postgres_server: str) -> Iterator[str]:
    """The URL of an empty database that only this test is in."""
    with database(postgres_server) as url:
        yield url


@pytest.fixture(scope="session")
def postgres(postgres_url: str) -> Iterator[PostgresEngine]:
    """An engine of few slots, so that worlds take turns in them."""
    engine = PostgresEngine(postgres_url, slots_max=2)
    yield engine
    engine.close()
