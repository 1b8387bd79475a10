"""docs/serving.md: its curl lines as they stand, its Python, and its figures, on a real server."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deskgym import Observation, load_suite, suite_names
from tests.serve.server import Server

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text("utf-8")
ADDRESS = "http://127.0.0.1:8000"
SHELL = [block for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if "curl " in block]
PYTHON = re.findall(r"needs a server -->\n```python\n(.*?)```", PAGE, re.DOTALL)
# Whatever curl is answered with is shown, and an answer that is a failure fails the script.
PRELUDE = 'set -eu -o pipefail\ncurl() { command curl --fail-with-body "$@"; echo; }\n'


def shell(script: str, server: Server, folder: Path) -> subprocess.CompletedProcess[str]:
    assert f"URL={ADDRESS}" in PAGE
    return subprocess.run(
        ["bash", "-c", PRELUDE + script],
        cwd=folder,
        env={**os.environ, "URL": server.url},
        capture_output=True,
        text=True,
    )


def test_the_curl_lines_work_as_they_stand(server: Server, tmp_path: Path) -> None:
    missing = [block for block in SHELL if "nobody" in block]
    script = "\n".join(block for block in SHELL if block not in missing)
    done = shell(script, server, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert script.count("curl ") == 18
    assert '"same":true' not in done.stdout
    assert '"reward":0.0' in done.stdout
    refused = shell(missing[0], server, tmp_path)
    assert refused.returncode == 22
    shown = json.loads(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])
    assert json.loads(refused.stdout) == shown


@pytest.mark.parametrize("name", suite_names())
def test_an_oracle_by_the_pages_curl_lines_earns_what_it_earns_in_process(
    server: Server, tmp_path: Path, name: str
) -> None:
    task = load_suite(name).tasks[0]
    control = task.control("oracle")
    lines = re.split(r"\n\n|\n(?=curl)", "\n".join(SHELL))
    create, step, score = (
        next(line for line in lines if mark in line)
        for mark in ('"with_token": true', "/curl-1/steps -H", "/curl-1/score")
    )

    def filled(line: str, body: dict[str, Any]) -> str:
        """The line with another body; a quote inside a body is written as the shell has it."""
        quoted = json.dumps(body).replace("'", "'\\''")
        head, _, _ = line.replace("curl-1", f"curl-{name}").partition("-d '")
        return f"{head}-d '{quoted}'"

    def answered(line: str) -> Any:
        done = shell(line, server, tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    new = {"task": f"{name}/{task.name}", "seed": 3, "id": f"curl-{name}"}
    first = answered(filled(create, {**new, "parameters": dict(control.parameters)}))
    moves = control.script(Observation(**first["observation"]))
    action, number = next(moves, None), 0
    while action is not None:
        number += 1
        taken = answered(filled(step, {"action": action.to_dict(), "number": number}))
        try:
            action = None if taken["done"] else moves.send(Observation(**taken))
        except StopIteration:
            action = None
    earned = answered(score.replace("curl-1", f"curl-{name}"))
    assert (earned["reward"], earned["actions"][0]) == (control.reward, number)


def test_the_python_lines_work_as_they_stand(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "\n".join(PYTHON).replace(ADDRESS, server.url)
    names: dict[str, Any] = {}
    exec(compile(source, "serving.md", "exec"), names)
    names["client"].close()
    assert capsys.readouterr().out == "order_found 0.0 False\n"
    assert [item.code for item in names["observations"]] == ["order_found"] * 8


def test_the_limits_are_those_of_the_settings() -> None:
    from deskgym.serve import Settings
    from deskgym.serve.api.forms import BATCH_MAX
    from deskgym.serve.run import HEADER_BYTES_MAX, HEADER_TIMEOUT_S

    settings = Settings()
    assert f"| {settings.live_max:,} | `--live-max`" in PAGE
    assert f"| {settings.live_max_per_key:,} | `--live-max-per-key`" in PAGE
    assert settings.idle_timeout_s == 3_600
    assert (settings.body_bytes_max, settings.import_bytes_max) == (2**20, 64 * 2**20)
    assert f"{HEADER_BYTES_MAX // 1_024} KB, {HEADER_TIMEOUT_S:.0f} seconds" in PAGE
    assert f"| {settings.body_timeout_s:.0f} seconds | | `408`" in PAGE
    assert f"| {BATCH_MAX:,} |" in PAGE
