"""Real servers for the tests: `deskgym serve` in a process of its own, on a free port."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STOPPED_WITHIN_S = 60


class Server:
    """A server's process, and where it is."""

    def __init__(self, database: str, *options: str, env: Mapping[str, str] | None = None) -> None:
        program = str(Path(sys.executable).with_name("deskgym"))
        command = [program, "serve", "--json", "--database", database]
        surroundings = {k: v for k, v in os.environ.items() if not k.startswith("DESKGYM_")}
        self.process = subprocess.Popen(
            [*command, *(() if "--port" in options else ("--port", "0")), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**surroundings, **(env or {})},
        )
        self._errors: str | None = None
        assert self.process.stdout is not None
        lines: list[str] = []
        while not lines or lines[-1].rstrip() != "}":
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"the server did not start: {self.stop()}")
            lines.append(line)
        self.url: str = json.loads("".join(lines))["url"]

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def kill(self) -> None:
        """End the process as a power failure would."""
        self.process.kill()
        self._collect()

    def stop(self) -> str:
        """Ask the process to stop; what it wrote to standard error."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self._collect()

    def _collect(self) -> str:
        if self._errors is None:
            self._errors = self.process.communicate(timeout=STOPPED_WITHIN_S)[1]
        return self._errors

    def log(self) -> list[dict[str, Any]]:
        """What a stopped server logged."""
        return [json.loads(line) for line in self.stop().splitlines()]


@contextmanager
def serving(
    folder: Path, *options: str, env: Mapping[str, str] | None = None, database: str | None = None
) -> Iterator[Server]:
    """A server with a database of its own, stopped at the end."""
    server = Server(database or f"sqlite:///{folder}/runs.db", *options, env=env)
    try:
        yield server
    finally:
        server.stop()
