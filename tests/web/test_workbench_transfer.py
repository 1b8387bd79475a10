"""What goes out of the workbench and comes in: recordings, replays, code."""

from __future__ import annotations

import html
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import deskgym
from deskgym.recording import parse
from tests.serve.inside import Inside
from tests.web.desk import (
    LAMP,
    SOLVED,
    act,
    command,
    form_to,
    played,
    recordings,
    reward,
    state,
)

# Going out, and coming in.


def upload(inside: Inside, document: bytes, name: str = "run.json") -> Any:
    return inside.post("/workbench/import", files={"file": (name, document)})


def test_an_export_is_the_recording_and_comes_in_again(bench: Inside) -> None:
    path = played(bench)
    export = bench.get(f"{path}/recording.json")
    assert export.headers["content-disposition"].startswith("attachment;")
    recording = parse(export.content)
    assert (recording.header.agent, recording.reward, len(recording.steps)) == ("human", 1.0, 6)
    back = upload(bench, export.content)
    assert back.status_code == 303
    page = bench.get(back.headers["location"].partition("#")[0]).text
    assert "The recording is whole" in page
    form = form_to(page, "/workbench/continue")
    assert form.fields["steps"] == "6"
    made = bench.post(form.action, data={**form.fields, "steps": "4"}).headers["location"]
    assert made != path
    assert state(bench, made)["steps"] == 4
    act(bench, made, *SOLVED[LAMP][4][:1], **SOLVED[LAMP][4][1])
    act(bench, made, *SOLVED[LAMP][5][:1], **SOLVED[LAMP][5][1])
    assert reward(bench.get(made).text) == "+1.00"


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        (b'"reward":1.0', b'"reward":0.9', "step 6"),
        (b'"reason":"cracked"', b'"reason":"whole"', "step 4"),
        (b'"seed":0', b'"seed":1', "step 1 or the header"),
    ],
)
def test_an_export_that_was_edited_is_refused_with_the_place(
    bench: Inside, old: bytes, new: bytes, place: str
) -> None:
    document = bench.get(f"{played(bench)}/recording.json").content
    assert old in document
    before = len(bench.get("/api/recordings").json()["items"])
    answer = upload(bench, document.replace(old, new, 1))
    assert answer.status_code == 422
    assert f"run.json was changed at {place}: it is not what was recorded" in answer.text
    assert len(bench.get("/api/recordings").json()["items"]) == before


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (b"", "is not JSON"),
        (b"not json", "is not JSON"),
        (b"{}", "it has no header"),
        (b'{"header":{"format":99}}', "install a newer deskgym"),
        ("\ud800".encode("utf-8", "surrogatepass"), "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
    ],
)
def test_what_is_no_recording_is_refused(bench: Inside, document: bytes, told: str) -> None:
    answer = upload(bench, document)
    assert answer.status_code == 422
    assert told in answer.text


def test_an_import_without_a_file_asks_for_one(bench: Inside) -> None:
    assert "choose a recording" in bench.post("/workbench/import", data={"file": "text"}).text


def test_an_episode_replays_exactly(bench: Inside) -> None:
    path = played(bench)
    assert "It replays exactly" in bench.post(f"{path}/replay").text
    assert state(bench, path)["steps"] == 6, "the episode itself stays as it is"


def test_going_on_from_another_step_leaves_the_episode_as_it_is(bench: Inside) -> None:
    path = played(bench)
    branch = bench.post("/workbench/continue", data={"from": path[1:], "steps": "2"})
    assert state(bench, branch.headers["location"])["steps"] == 2
    assert state(bench, path)["steps"] == 6
    for wrong in ("7", "-1", "two", "9" * 400):
        answer = bench.post("/workbench/continue", data={"from": path[1:], "steps": wrong})
        assert answer.status_code == 400
    for nowhere in ("", "recordings", "recordings/none", "shipped/backoffice/99999",
                    "shipped/nothing/1", "workbench/none", "../etc/passwd"):  # fmt: skip
        answer = bench.post("/workbench/continue", data={"from": nowhere})
        assert answer.status_code in (400, 404), nowhere


@pytest.mark.parametrize(
    "run",
    ["/shipped/backoffice/1", "/board/service/two-half-payments/{script}?seed=3"],
)
def test_the_viewer_leads_to_where_any_run_is_gone_on_from(bench: Inside, run: str) -> None:
    script = deskgym.load_suite("service").task("two-half-payments").control("oracle").name
    page = bench.get(run.format(script=script)).text
    link = re.search(r'href="(/workbench\?from=[^"]+)">Go on from it<', page)
    assert link is not None
    start_page = bench.get(html.unescape(link[1])).text
    settings = form_to(start_page, "/workbench").fields
    form = form_to(start_page, "/workbench/continue")
    made = bench.post(form.action, data=form.fields).headers["location"]
    assert "differs" not in made
    found = state(bench, made)
    assert found["steps"] == int(form.fields["steps"]) > 0
    assert found["task"] == f"{settings['suite']}/{settings['task']}"
    assert found["seed"] == int(settings["seed"])


def test_an_episodes_own_trajectory_leads_there_too(bench: Inside) -> None:
    path = played(bench)
    page = bench.get(f"{path}/trajectory").text
    link = re.search(r'href="(/workbench\?from=[^"]+)">Go on from it<', page)
    assert link is not None
    form = form_to(bench.get(html.unescape(link[1])).text, "/workbench/continue")
    first, again = (bench.post(form.action, data=form.fields) for _ in range(2))
    assert first.headers["location"] == again.headers["location"] != path
    assert state(bench, first.headers["location"])["steps"] == 6


def test_a_shipped_run_can_be_gone_on_with(bench: Inside) -> None:
    page = bench.get("/workbench?from=shipped/backoffice/1").text
    form = form_to(page, "/workbench/continue")
    made = bench.post(form.action, data=form.fields).headers["location"]
    assert "differs" not in made
    found = state(bench, made)
    assert (found["steps"], found["status"]) == (int(form.fields["steps"]), "live")


def test_closing_stores_the_recording_and_opens_it(bench: Inside) -> None:
    path = played(bench)
    opened = bench.post(f"{path}/close").headers["location"]
    (kept,) = recordings(bench, path)
    assert opened == f"/recordings/{kept['id']}"
    assert bench.post(f"{path}/close").headers["location"] == opened
    assert "it was closed by hand" in bench.get(path).text


def test_the_trajectory_is_the_viewers(bench: Inside) -> None:
    path = played(bench)
    page = bench.get(f"{path}/trajectory?step=4").text
    assert "Step 4 of 6" in page
    assert "Still going on" in page
    assert "It replays exactly" in bench.post(f"{path}/trajectory").text


# Code.


def snippet(inside: Inside, path: str, name: str) -> str:
    page = inside.get(path).text
    found = re.search(rf'<pre id="code-{name}"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert found is not None
    return html.unescape(found[1])


def test_its_python_earns_the_same(bench: Inside, capsys: pytest.CaptureFixture[str]) -> None:
    path = played(bench)
    command(bench, path, '{"tool": "message", "arguments": {"text": "\u202e \\"quoted\\" é\\n"}}')
    command(bench, path, '{"tool": "odd", "arguments": ["a", null, true]}')
    command(bench, path, '{"tool": "get_order", "arguments": {"class": 1, "not a name": 2}}')
    code = snippet(bench, path, "python")
    assert code.isascii()
    scope: dict[str, Any] = {}
    exec(code, scope)
    env = scope["env"]
    assert len(env.steps) == 9
    assert env.score().explain() == bench.get(
        f"/api/episodes/{path.rpartition('/')[2]}/score"
    ).json()["explanation"]  # fmt: skip
    assert "reward +1.00" in capsys.readouterr().out


def test_its_curl_lines_are_quoted_for_a_shell(bench: Inside, tmp_path: Path) -> None:
    path = played(bench)
    nasty = "'; touch hacked; echo '$(touch hacked)`touch hacked`\n"
    body = {"tool": "message", "arguments": {"text": nasty}}
    command(bench, path, json.dumps(body))
    code = snippet(bench, path, "curl")
    fake = 'curl() { printf "%s\\0" "${@: -1}" >> sent; echo "{\\"id\\": \\"e\\"}"; }\n'
    subprocess.run(["bash", "-euc", fake + code], cwd=tmp_path, check=True, capture_output=True)
    assert not (tmp_path / "hacked").exists()
    sent = (tmp_path / "sent").read_bytes().split(b"\0")[:-1]
    made, *steps = map(json.loads, sent[:-1])
    assert made["task"] == LAMP
    assert steps[-1] == {"action": body, "number": 7}
    assert sent[-1].endswith(b"/api/episodes/e/score")
