"""Spaces: what they declare is so, and their images start what serves."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from deskgym.serve.door import apps
from deskgym.serve.openenv.task_list import TaskList
from deskgym.suite import load_suite
from tests.serve.doorway import KEY, running
from tools import space

NAMES = sorted(path.name for path in space.SPACES.iterdir())
SUITES = ["service", "backoffice", "tickets"]


def instructions(name: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile: a keyword and its argument, whole."""
    text = (space.SPACES / name / "Dockerfile").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    whole = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in whole if line.strip()]


def front_matter(name: str) -> dict[str, Any]:
    text = (space.SPACES / name / "README.md").read_text()
    found = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    assert found is not None
    return yaml.safe_load(found[1])


def test_there_is_a_space_for_each_door_that_can_be_served_alone() -> None:
    assert set(NAMES) <= set(apps())
    assert NAMES == ["openenv-backoffice", "openenv-service", "openenv-tickets", "tickets"]


@pytest.mark.parametrize("name", NAMES)
def test_an_image_starts_its_door_on_the_port_of_spaces(name: str) -> None:
    lines = instructions(name)
    keywords = [keyword for keyword, _ in lines]
    known = {"FROM", "RUN", "USER", "ENV", "WORKDIR", "COPY", "EXPOSE", "HEALTHCHECK", "CMD"}
    assert set(keywords) == known
    assert keywords[0] == "FROM"
    assert keywords.index("USER") < keywords.index("CMD")
    given = dict(lines)
    assert ":" in given["FROM"], "an image without a tag changes under one's feet"
    assert given["USER"] == "user"
    assert given["EXPOSE"] == "7860"
    assert json.loads(given["CMD"]) == shlex.split(
        f"deskgym serve --app {name} --host 0.0.0.0 --port 7860"
    )
    health = json.loads(given["HEALTHCHECK"].partition("CMD ")[2])
    assert "http://127.0.0.1:7860/health" in compile(health[2], "health", "exec").co_consts
    extra = "serve" if name == "tickets" else "openenv"
    assert f'RUN pip install --user ".[{extra}]"' in [" ".join(line) for line in lines]
    matter = front_matter(name)
    assert (matter["sdk"], matter["app_port"]) == ("docker", 7860)
    assert {"title", "emoji", "colorFrom", "colorTo", "license"} <= set(matter)


@pytest.mark.parametrize("suite_name", SUITES)
def test_a_package_declares_the_tools_tasks_and_rewards_of_its_suite(suite_name: str) -> None:
    declared = yaml.safe_load((space.SPACES / f"openenv-{suite_name}/openenv.yaml").read_text())
    suite, tasks = load_suite(suite_name), TaskList(load_suite(suite_name))
    assert declared["name"] == suite_name
    assert declared["port"] == 7860
    capabilities = declared["validation"]["capabilities"]
    assert capabilities["declared_tools"] == list(suite.toolbox)
    assert capabilities["declared_task_count"] == {
        split: tasks.count(split) for split in ("train", "test")
    }
    low = {"service": -1.0}.get(suite_name, 0.0)
    assert declared["validation"]["reward"]["range"] == [low, 1.0]
    rewards = [control.reward for task in suite.tasks for control in task.controls]
    assert low <= min(rewards) <= max(rewards) == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_holds_what_its_image_copies(name: str, tmp_path: Path) -> None:
    space.assemble(name, tmp_path / "made")
    copied = [argument.split()[1:-1] for keyword, argument in instructions(name)
              if keyword == "COPY"]  # fmt: skip
    for path in (path for paths in copied for path in paths):
        assert (tmp_path / "made" / path).exists(), path
    assert (tmp_path / "made/src/deskgym/serve/app.py").is_file()
    assert not list((tmp_path / "made").rglob("__pycache__"))
    with pytest.raises(ValueError, match="is not empty"):
        space.assemble(name, tmp_path / "made")


def test_an_unknown_space_is_named() -> None:
    with pytest.raises(ValueError, match="there is no space 'x'"):
        space.assemble("x", Path("nowhere"))


def test_the_image_of_the_tickets_serves_with_a_key_on_any_address(tmp_path: Path) -> None:
    """The settings that the image's command makes; the address is the test's."""
    import httpx

    with running(tmp_path, app="tickets", host="0.0.0.0", keys={"trainer": KEY}) as up:
        assert httpx.get(f"{up.url}/health").status_code == 200
        assert httpx.post(f"{up.url}/reset").status_code == 401
        bearer = {"Authorization": f"Bearer {KEY}"}
        assert httpx.post(f"{up.url}/reset", headers=bearer).status_code == 200
