"""The recordings library without a browser: shelves, filters, pages, files that are brought."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import orjson
import pytest

from deskgym.evaluate import EpisodeSpec, run_episode
from deskgym.recording import Recording, read, shipped
from deskgym.runstore import RecordingFilter
from deskgym.serve.settings import Settings
from deskgym.web.site import POLICY
from tests.serve.inside import Inside
from tests.web.page import Reading
from tests.web.planted import document_of, hostile_document, resealed

TASK = "service/damaged-lamp"
HTML = {"Accept": "text/html"}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\u202e\u0000 javascript:'\"{{7*7}}"


def made(agent: str = "oracle", seed: int = 0, task: str = TASK) -> Recording:
    return run_episode(EpisodeSpec(task, agent, seed))


def bring(inside: Inside, content: bytes, name: str = "runs.jsonl") -> httpx.Response:
    return inside.post("/recordings", files={"file": (name, content)}, headers=HTML)


def paths(answer: httpx.Response) -> list[str]:
    """The pages of the runs that a list shows, in order."""
    assert answer.status_code == 200, answer.text
    found = Reading(answer.text.partition("<tbody>")[2]).links
    return [link for link in found if link.startswith(("/recordings/", "/shipped/"))]


class Kept:
    """An app with four recordings, two run here and two uploaded, by their pages."""

    def __init__(self, inside: Inside) -> None:
        store = inside.service.store.recordings
        self.inside = inside
        self.pages = {
            "whole": f"/recordings/{store.save(made())}",
            "nothing": f"/recordings/{store.save(made('null'))}",
            "ticket": f"/recordings/{store.import_(made('null', 1, 'tickets/easy'))[0]}",
            "other": f"/recordings/{store.import_(made('oracle', 2))[0]}",
        }


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """One for all tests that only read, or are refused."""
    with Inside(tmp_path_factory.mktemp("kept")) as inside:
        yield Kept(inside)


def test_an_empty_server_shows_what_comes_with_it_as_verified(inside: Inside) -> None:
    answer = inside.get("/recordings")
    [following] = [link for link in Reading(answer.text).links if "page=" in link]
    rest = inside.get(following)
    count = len(list(read(shipped("backoffice"))))
    expected = [f"/shipped/backoffice/{n}" for n in range(1, count + 1)]
    assert paths(answer) + paths(rest) == expected
    assert (answer.text + rest.text).count(">verified<") == count
    assert answer.headers["content-security-policy"] == POLICY


def test_own_uploaded_and_shipped_runs_are_apart(kept: Kept) -> None:
    get, pages = kept.inside.get, kept.pages
    assert paths(get("/recordings")) == [pages["nothing"], pages["whole"]]
    assert paths(get("/recordings?from=uploaded")) == [pages["other"], pages["ticket"]]
    assert all("/shipped/" in path for path in paths(get("/recordings?from=shipped")))


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("from=own&task=service", ["nothing", "whole"]),
        (f"from=own&task={TASK}", ["nothing", "whole"]),
        ("from=own&suite=tickets", []),
        ("from=uploaded&suite=tickets", ["ticket"]),
        ("from=own&agent=oracle", ["whole"]),
        ("from=own&reward_min=0.5", ["whole"]),
        ("from=own&reward_max=0.5", ["nothing"]),
        ("from=own&reward_min=-1&reward_max=1", ["nothing", "whole"]),
        ("from=own&verdict=resolved", ["whole"]),
        ("from=own&verdict=not_resolved", ["nothing"]),
        ("from=own&status=reward", ["nothing", "whole"]),
        ("from=own&status=invalid", []),
        ("from=own&broken=outcome", ["nothing"]),
        ("from=own&broken=ceiling+no_complete_outcome", ["nothing"]),
        ("from=own&broken=no+such+check", []),
        ("from=own&sort=oldest", ["whole", "nothing"]),
        ("from=own&sort=highest", ["whole", "nothing"]),
        ("from=own&sort=lowest", ["nothing", "whole"]),
        ("from=own&agent=%27+OR+1%3D1+--", []),
        ("from=own&agent=%00", []),
    ],
)
def test_filters_find_the_runs_that_fit(kept: Kept, query: str, names: list[str]) -> None:
    assert paths(kept.inside.get(f"/recordings?{query}")) == [kept.pages[name] for name in names]


def test_shipped_runs_are_filtered_alike(kept: Kept) -> None:
    inside = kept.inside
    runs = [item.recording for item in read(shipped("backoffice"))]
    broke = [
        n
        for n, run in enumerate(runs, start=1)
        if any(
            item["name"] == "only-task-rows-changed" and not item["holds"]
            for item in run.footer.score["breakdown"]["checks"]
        )
    ]
    assert broke
    found = paths(inside.get("/recordings?from=shipped&broken=only-task-rows-changed"))
    assert found == [f"/shipped/backoffice/{n}" for n in broke]
    lowest = paths(inside.get("/recordings?from=shipped&sort=lowest"))
    rewards = [runs[int(path.rpartition("/")[2]) - 1].reward for path in lowest]
    assert rewards == sorted(rewards)
    assert paths(inside.get("/recordings?from=shipped&agent=nobody")) == []


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("reward_min=much", "from -1 to 1"),
        ("reward_max=nan", "from -1 to 1"),
        ("reward_max=7", "from -1 to 1"),
        ("sort=reward", "newest, oldest, highest, lowest"),
        ("verdict=fine", "resolved, partial, not_resolved"),
        ("status=x", "reward, invalid, error"),
        ("from=elsewhere", "own, shipped, uploaded"),
        ("page=x", "no page token"),
    ],
)
def test_what_is_no_filter_is_refused_with_those_that_are(
    kept: Kept, query: str, said: str
) -> None:
    answer = kept.inside.get(f"/recordings?{'' if 'from' in query else 'from=own&'}{query}")
    assert answer.status_code in (404, 422)
    assert said in Reading(answer.text).text


def test_pages_hold_each_run_once(inside: Inside) -> None:
    store = inside.service.store.recordings
    recording = made("null")
    ids = [store.save(recording) for _ in range(101)]
    seen: list[str] = []
    path: str | None = "/recordings?from=own&task=service&sort=oldest"
    while path:
        answer = inside.get(path)
        seen += paths(answer)
        links = [link for link in Reading(answer.text).links if "page=" in link]
        assert len(links) < 2
        assert all("task=service" in link and "sort=oldest" in link for link in links)
        path = links[0] if links else None
    assert seen == [f"/recordings/{id}" for id in ids]


# Files.


def test_a_recording_is_taken_and_opened_at_its_last_step(inside: Inside) -> None:
    recording = made()
    answer = bring(inside, recording.to_json(), "run.json")
    assert answer.status_code == 303
    page = inside.get(answer.headers["location"])
    assert recording.hash in page.text
    assert f"Step {len(recording.steps)} of {len(recording.steps)}" in page.text
    download = inside.get(f"{answer.headers['location']}?download=1")
    assert download.content == recording.to_json()
    assert paths(inside.get("/recordings?from=uploaded")) == [answer.headers["location"]]
    again = bring(inside, recording.to_json())
    assert again.headers["location"] == answer.headers["location"]
    replayed = inside.post(answer.headers["location"], headers=HTML)
    assert "replays exactly" in Reading(replayed.text).text


def edited(step: int) -> bytes:
    document = document_of(made())
    document["steps"][step - 1]["result"]["message"] += " (edited)"
    return orjson.dumps(document)


@pytest.mark.parametrize("step", [1, 2, 4])
def test_an_edited_recording_is_refused_with_the_step_that_was_edited(
    kept: Kept, step: int
) -> None:
    answer = bring(kept.inside, edited(step), "mine.json")
    assert answer.status_code == 422
    place = "step 1 or the header" if step == 1 else f"step {step}"
    assert f"mine.json was changed at {place}" in Reading(answer.text).text
    assert kept.inside.service.store.recordings.count() == 4


def test_each_line_of_a_file_is_taken_or_refused_with_its_number(inside: Inside) -> None:
    lines = [made().to_json(), edited(2), b"", made("null").to_json(), b"{}", made().to_json()]
    answer = bring(inside, b"\n".join(lines), "runs.jsonl")
    text = Reading(answer.text).text
    assert answer.status_code == 200
    assert "2 added, 1 there already, 2 refused." in text
    assert "runs.jsonl:2 was changed at step 2" in text
    assert "runs.jsonl:5 is no recording" in text
    assert inside.service.store.recordings.count(RecordingFilter(origin="uploaded")) == 2


def test_more_lines_than_a_file_may_have_are_refused_at_once(kept: Kept) -> None:
    answer = bring(kept.inside, b"{}\n" * 1_001)
    assert answer.status_code == 422
    assert "has 1,001 lines, and may have 1,000" in Reading(answer.text).text


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"\xff\xfe", "is not JSON"),
        (b'{"header": "\\ud800"}', "is not JSON"),
        (b'"\xed\xa0\x80"', "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"header":{"format":1,"x":' + b"[" * 900 + b"]" * 900 + b"}}", "is no recording"),
        (b'{"header":{"format":99}}', "install a newer deskgym"),
        (b"<html>", "is not JSON"),
        (b"null", "has no header"),
    ],
)
def test_what_is_no_recording_is_refused_as_a_page(kept: Kept, content: bytes, said: str) -> None:
    answer = bring(kept.inside, content)
    assert answer.status_code == 422
    assert said in Reading(answer.text).text
    assert kept.inside.service.store.recordings.count() == 4


def test_a_form_without_a_file_is_refused(kept: Kept) -> None:
    for more in ({"data": {"file": "text"}}, {"files": {"file": ("", b"")}}):
        answer = kept.inside.post("/recordings", headers=HTML, **more)
        assert answer.status_code in (400, 422)
        assert "choose a file" in Reading(answer.text).text


def long() -> list[Recording]:
    """Two recordings with a text of 1 MB where a list and a page have one."""
    documents = [document_of(made(seed=seed)) for seed in (0, 1)]
    for document in documents:
        document["header"]["agent"] = "x" * 1_000_000
        document["steps"][0]["result"]["message"] = "y" * 1_000_000
    return [resealed(document) for document in documents]


def hostile() -> list[Recording]:
    return [resealed(hostile_document(made(seed=seed), HOSTILE)) for seed in (0, 1)]


@pytest.mark.parametrize("recordings", [hostile, long])
def test_a_hostile_recording_is_shown_as_text_wherever_it_is_listed(
    inside: Inside, recordings: Callable[[], list[Recording]]
) -> None:
    answers = [bring(inside, item.to_json(), f"{HOSTILE}.json") for item in recordings()]
    assert [answer.status_code for answer in answers] == [303, 303]
    path, other = (answer.headers["location"] for answer in answers)
    name, second = path.removeprefix("/"), other.removeprefix("/")
    for page in (
        "/recordings?from=uploaded", path, f"{path}?step=1", f"{path}/delete",
        f"/compare?a={name}", f"/compare?a={name}&b={second}",
        f"/compare?a={name}&b=shipped/backoffice/1",
    ):  # fmt: skip
        shown = inside.get(page)
        assert shown.status_code == 200, (page, shown.text[:500])
        reading = Reading(shown.text)
        assert "alert" not in "".join(reading.attributes)
        assert not {name for name in reading.attributes if name.startswith("on")}
        assert "<script>alert" not in shown.text
        assert "\u202e" not in shown.text
        assert all(link.startswith(("/", "#", "?")) for link in reading.links)
        assert len(shown.text) < 9_000_000


def test_a_file_that_is_too_large_is_refused_as_a_page(tmp_path: Path) -> None:
    with Inside(tmp_path, import_bytes_max=100_000) as inside:
        answer = bring(inside, b"x" * 200_000)
        assert answer.status_code == 413
        assert "100,000 bytes" in Reading(answer.text).text
        program = inside.post("/recordings", files={"file": ("x", b"x" * 200_000)})
        assert program.json()["code"] == "too_large"
        assert inside.get("/recordings").status_code == 200


def test_a_file_may_be_larger_than_other_bodies(inside: Inside) -> None:
    assert len(made().to_json()) < Settings().body_bytes_max
    lines = b"\n".join(made(seed=n % 3).to_json() for n in range(3))
    answer = bring(inside, lines + b"\n" + b" " * Settings().body_bytes_max)
    assert "3 added" in Reading(answer.text).text


def test_a_page_of_another_site_cannot_bring_or_delete_anything(kept: Kept) -> None:
    for headers in ({"Origin": "https://example.test"}, {"Sec-Fetch-Site": "cross-site"}):
        for path in ("/recordings", f"{kept.pages['whole']}/delete"):
            files = {"file": ("x.json", made(seed=5).to_json())}
            assert kept.inside.post(path, files=files, headers=headers).status_code == 403
    assert kept.inside.service.store.recordings.count() == 4


def test_a_run_is_deleted_after_it_was_asked_whether_it_is_meant(inside: Inside) -> None:
    kept = Kept(inside).pages
    asked = inside.get(f"{kept['whole']}/delete")
    assert "cannot be undone" in Reading(asked.text).text
    assert inside.get(kept["whole"]).status_code == 200
    done = inside.post(f"{kept['whole']}/delete", headers=HTML)
    assert (done.status_code, done.headers["location"]) == (303, "/recordings?from=own&deleted=1")
    assert inside.get(kept["whole"], headers=HTML).status_code == 404
    assert paths(inside.get(done.headers["location"])) == [kept["nothing"]]
    assert inside.post(f"{kept['whole']}/delete", headers=HTML).status_code == 404


def test_a_run_that_was_not_judged_shows_no_reward(inside: Inside) -> None:
    document = document_of(made())
    document["footer"]["status"] = "invalid"
    bring(inside, resealed(document).to_json())
    listed = inside.get("/recordings?from=uploaded").text.partition("<tbody>")[2]
    assert "no reward" in listed
    assert "+1.00" not in listed
    assert paths(inside.get("/recordings?from=uploaded&reward_min=0.5")) == []
    assert paths(inside.get("/recordings?from=uploaded&verdict=resolved")) == []


@pytest.mark.parametrize(
    "path", ["/shipped/backoffice/0", "/shipped/backoffice/49", "/shipped/backoffice/x",
             "/shipped/nobody/1", "/shipped/service/1", "/recordings/nobody",
             "/recordings/%F0%9F%98%80", "/shipped/backoffice/1?step=99"]
)  # fmt: skip
def test_a_run_that_is_not_there_is_a_page_that_says_so(kept: Kept, path: str) -> None:
    answer = kept.inside.get(path, headers=HTML)
    assert answer.status_code == 404
    assert "<h1>" in answer.text


def test_a_shipped_run_is_shown_and_acted_out_again(kept: Kept) -> None:
    inside = kept.inside
    assert "Step 2 of" in inside.get("/shipped/backoffice/1?step=2").text
    answer = inside.post("/shipped/backoffice/1", headers=HTML)
    assert "replays exactly" in Reading(answer.text).text
