"""Private servers: found again, and stopped, when the processes that used them were killed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from deskgym.store.postgres.server import PREFIX, embedded_server, stop_orphans

KILLED = """
import os, signal, sys
from pathlib import Path
from deskgym.store.postgres.server import embedded_server
with embedded_server(Path(sys.argv[1]), keep=False):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the server's own user may enter; pytest's is closed to it."""
    with tempfile.TemporaryDirectory(prefix="private-") as made:
        yield Path(made)


def left_behind(data: Path) -> psutil.Process:
    """The server of a process that was killed."""
    killed = subprocess.run([sys.executable, "-c", KILLED, str(data)], check=False, timeout=120)
    assert killed.returncode == -9
    return postmaster(data)


def postmaster(data: Path) -> psutil.Process:
    return psutil.Process(int((data / "postmaster.pid").read_text().split()[0]))


def runs(server: psutil.Process) -> bool:
    """Whether it does; where nobody asks after the dead they stay as zombies."""
    return server.is_running() and server.status() != psutil.STATUS_ZOMBIE


def answers(url: str) -> bool:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)


def test_a_killed_process_leaves_no_server_behind_the_next_start(
    folder: Path, postgres_server: str
) -> None:
    data = folder / f"{PREFIX}killed" / "data"
    server = left_behind(data)
    assert runs(server)
    assert stop_orphans(folder) == [data.parent]
    assert not runs(server)
    assert not data.parent.exists()
    assert stop_orphans(folder) == []
    stop_orphans()
    assert answers(postgres_server), "a server that is in use stays"


def test_a_server_that_a_killed_process_left_is_used_again_and_then_stopped(folder: Path) -> None:
    data = folder / "kept"
    server = left_behind(data)
    with embedded_server(data, keep=False) as url:
        assert answers(url)
        assert postmaster(data) == server
    assert not runs(server)
    assert not data.exists()


def test_what_is_no_folder_of_ours_is_left_alone(folder: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    for name, users, pid in (
        ("empty", "[]", None),
        ("broken", "[", None),
        ("elsewhere", f"[{dead.pid}]", dead.pid),  # such a server runs on another machine
        ("another", f"[{dead.pid}]", psutil.Process().pid),  # the number is ours, not a server's
    ):
        data = folder / f"{PREFIX}{name}" / "data"
        data.mkdir(parents=True)
        (data / ".handle_pids.json").write_text(users)
        if pid is not None:
            (data / "postmaster.pid").write_text(f"{pid}\n")
    assert stop_orphans(folder) == []
    assert len(list(folder.iterdir())) == 4
