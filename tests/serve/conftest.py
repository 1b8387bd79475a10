from __future__ import annotations

from collections.abc import Iterator

import pytest

from deskgym import Client
from tests.serve.server import Server, serving


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that several tests use; each makes episodes of its own."""
    with serving(tmp_path_factory.mktemp("server")) as made:
        yield made


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(server.url, retry_s=5) as made:
        yield made
