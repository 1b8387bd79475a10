"""`deskgym mcp`: one episode on standard input and output."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deskgym import cli
from deskgym.recording import read
from deskgym.runstore import open_run_store
from tests.serve.doorway import in_process, oracle
from tests.serve.mcp.client import COMMAND, over_stdio, play_oracle

TASK = "service/damaged-lamp"
READS = (("get_order", {"order_id": "S-410"}), ("list_order_payments", {"order_id": "S-410"}))
HELLO = {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}
}  # fmt: skip


class Client:
    """A client that reads every line, and takes no other for the protocol's."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [COMMAND, "mcp", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._id = 0
        self.rpc("initialize", **HELLO)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def rpc(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request; what the next line answers."""
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        assert self.process.stdout is not None
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self._id
        return answer["result"]

    def call(self, tool: str, arguments: Any) -> dict[str, Any]:
        return self.rpc("tools/call", name=tool, arguments=arguments)["structuredContent"]

    def leave(self) -> tuple[str, str]:
        """Close standard input; what else the server wrote."""
        return self.process.communicate(timeout=60)


@pytest.mark.parametrize("task", [TASK, "backoffice/damaged-item", "tickets/hard"])
def test_an_oracle_over_stdio_earns_what_it_earns_in_process(task: str, tmp_path: Path) -> None:
    file, database = tmp_path / "runs.jsonl", f"sqlite:///{tmp_path}/runs.db"

    async def run() -> None:
        async with over_stdio(task, "--out", str(file), "--database", database) as session:
            await session.initialize()
            await play_oracle(session, task)

    asyncio.run(run())
    reference = in_process(task, oracle(task))
    (found,) = read(file)
    assert found.recording.footer.score["reward"] == reference.score().reward
    assert found.recording.footer.digest == reference.world.digest()


def test_nothing_but_the_protocol_is_on_standard_output(tmp_path: Path) -> None:
    client = Client(TASK, "--database", f"sqlite:///{tmp_path}/runs.db")
    assert client.call(*READS[0])["code"] == "order_found"
    assert client.call("close", {})["done"] is True
    out, err = client.leave()
    assert out == ""
    assert client.process.returncode == 0
    assert "is ended after 2 actions" in err
    assert "reward" not in err


def test_an_episode_with_an_id_goes_on_after_kill_9(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/runs.db"
    options = (TASK, "--id", "mine", "--database", database)
    first = Client(*options)
    assert first.call(*READS[0])["step"] == 1
    first.process.kill()
    first.process.communicate()
    second = Client(*options)
    assert second.call(*READS[1])["step"] == 2
    second.process.send_signal(signal.SIGTERM)
    _, err = second.leave()
    assert second.process.returncode == 0
    assert "mine is live after 2 actions" in err
    with open_run_store(database) as store:
        assert store.episodes().state("mine").live


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["service/damagd-lamp"], "did you mean 'service/damaged-lamp'"),
        (["service"], "deskgym tasks service"),
        ([TASK, "--set", "stock=99"], "from 0 to 6"),
        ([TASK, "--rubric", "none"], "there is no rubric"),
        ([TASK, "--id", "a b"], "an episode's id is"),
    ],
)
def test_a_wrong_use_is_told_on_standard_error(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    database = f"sqlite:///{tmp_path}/runs.db"
    monkeypatch.setattr("sys.argv", [COMMAND, "mcp", *arguments, "--database", database])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in " ".join(printed.err.split())


def test_the_configuration_starts_this_very_episode(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [COMMAND, "mcp", TASK, "--seed", "3", "--set", "stock=0", "--config"]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit):
        cli.main()
    server = json.loads(capsys.readouterr().out)["mcpServers"]["deskgym"]
    assert server["command"] == COMMAND
    assert server["args"] == ["mcp", TASK, "--seed", "3", "--set", "stock=0"]
