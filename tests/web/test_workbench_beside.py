"""What stands beside a case at the workbench, and who may look at it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import deskgym
from deskgym import suite as suites
from deskgym.runstore import NewEpisode
from deskgym.suite import find_tasks
from tests.serve.inside import Inside
from tests.web.desk import (
    LAMP,
    act,
    command,
    episodes,
    form_to,
    start,
    state,
)

# What stands beside the case.


def test_choice_reports_and_records_stand_beside_the_case(bench: Inside) -> None:
    path = start(bench, "service/two-full-captures")
    assert "nothing is authorised yet" in bench.get(path).text
    act(bench, path, "get_order", order_id="S-410")
    act(bench, path, "propose", remedy="refund", order_id="S-410", payment_id="PAY-A",
        amount_cents="4800")  # fmt: skip
    act(bench, path, "report", claim="refunded", order_id="S-410")
    page = bench.get(path).text
    plain = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html.unescape(page)))
    assert "3 of 48 actions used" in plain
    assert "authorised: refund PAY-A, $48.00 (order S-410)" in plain
    assert re.search(r"refunded S-410 ✕ false when made", plain)
    act(bench, path, "issue_refund", order_id="S-410", payment_id="PAY-A", amount_cents="4800",
        reason="too much")  # fmt: skip
    act(bench, path, "report", claim="refunded", order_id="S-410")
    page = bench.get(path).text
    plain = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", html.unescape(page)))
    assert re.search(r"refunded S-410 ✓ true when made", plain)
    assert re.search(r"PAY-A order id S-410 status captured amount \$48.00 captured \$48.00 "
                     r"refunded \$48.00", plain)  # fmt: skip
    assert "added refunds" in plain


def test_a_customer_who_agrees_to_leave_it_authorises_nothing(bench: Inside) -> None:
    path = start(bench, "service/two-half-payments")
    act(bench, path, "get_order", order_id="S-410")
    act(bench, path, "propose", remedy="nothing", order_id="S-410")
    page = bench.get(path).text
    assert "proposal_accepted" in page
    assert re.search(r"nothing is authorised\s+<span[^>]*>since action 2", page)


def test_a_first_message_that_asks_for_a_write_authorises_it(
    bench: Inside, returns_desk: None
) -> None:
    path = start(bench, "returns-desk/cracked-mug")
    page = bench.get(path).text
    assert "<strong>authorised:</strong> <bdi>open return M-1-1 (order M-1)</bdi>" in page
    assert "by the first message" in page


def test_a_suite_without_panels_shows_the_customers_own_rows(
    bench: Inside, returns_desk: None
) -> None:
    path = start(bench, "returns-desk/cracked-mug")
    page = bench.get(path).text
    records = page.partition('id="beside"')[2].partition("</aside>")[0]
    for title in ("Customers", "Orders", "Order items", "Shipments"):
        assert f"<h3>{title}</h3>" in records
    assert "9.00 EUR" in records
    for private in ("Wren Sentinel", "wren@demo.example", "9 Sentinel Row"):
        assert private not in records
    act(bench, path, "find_order", order_id="M-1")
    act(bench, path, "open_return", order_id="M-1", item_id="M-1-1", reason="cracked")
    assert "<h3>Returns</h3>" in bench.get(path).text


@pytest.fixture
def returns_desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example's suite, as if its package were installed."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "examples" / "returns_desk" / "src")
    places = {**suites._places(), "returns-desk": "returns_desk:suite"}
    monkeypatch.setattr(suites, "_places", lambda: places)
    yield
    suites.load_suite.cache_clear()


def test_a_thread_is_opened_read_and_answered_beside_the_inbox(bench: Inside) -> None:
    path = start(bench, "backoffice/damaged-item")
    page = bench.get(path).text
    # The thread of the case is open from the start; another one opens by its link.
    assert "the chopping board damaged on arrival" in page
    link = re.search(rf'href="({path}\?thread_id=T-330[^"]*)#beside"', page)
    assert link is not None
    other = bench.get(html.unescape(link[1])).text
    assert "the chopping board damaged on arrival" not in other
    assert state(bench, path)["steps"] == 0, "looking is no action"
    form = form_to(page.partition('<details class="answer">')[2], "/steps")
    assert form.fields == {
        "number": "1", "tool": "reply_to_thread", "arg.thread_id": "T-331", "arg.body": ""
    }  # fmt: skip
    words = {"arg.body": "About order 1152: we are on it."}
    assert bench.post(form.action, data={**form.fields, **words}).status_code == 303
    assert "About order 1152: we are on it." in bench.get(path).text


def test_an_episode_that_somebody_else_acts_in_is_watched(bench: Inside) -> None:
    made = bench.post("/api/episodes", json={"task": LAMP, "agent": "model-7"}).json()
    page = bench.get(f"/workbench/{made['id']}").text
    assert "acts in this episode, not you" in page
    assert not re.search(r'action="[^"]*/steps', page)
    sent = {"number": "1", "tool": "close"}
    assert bench.post(f"/workbench/{made['id']}/steps", data=sent).status_code == 303
    bench.post(f"/workbench/{made['id']}/close")
    found = bench.get(f"/api/episodes/{made['id']}").json()
    assert (found["steps"], found["status"]) == (0, "live")


def test_what_nobody_made_is_not_there(bench: Inside) -> None:
    for path in ("/workbench/nobody", "/workbench/nobody/trajectory", "/blind/nobody",
                 "/workbench/nobody/recording.json"):  # fmt: skip
        assert bench.get(path).status_code == 404
    for end in ("steps", "close", "replay"):
        assert bench.post(f"/workbench/nobody/{end}").status_code == 404


# Who may.


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://elsewhere.example"}, {"Sec-Fetch-Site": "cross-site"},
     {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"}],
)  # fmt: skip
def test_a_form_of_another_site_is_refused(bench: Inside, headers: dict[str, str]) -> None:
    path = start(bench, LAMP)
    sent = {"number": "1", "tool": "get_order", "arg.order_id": "S-410"}
    before = len(episodes(bench))
    for place, fields in (
        ("/workbench", {"suite": "service"}), (f"{path}/steps", sent), (f"{path}/close", {}),
        (f"{path}/replay", {}), ("/workbench/continue", {"from": path[1:]}),
    ):  # fmt: skip
        assert bench.post(place, data=fields, headers=headers).status_code == 403, place
    found = state(bench, path)
    assert (found["steps"], found["status"]) == (0, "live")
    assert len(episodes(bench)) == before


def test_a_server_with_keys_asks_for_one_and_lists_ones_own(tmp_path: Path) -> None:
    keys = {"ada": "a" * 20, "ben": "b" * 20}
    with Inside(tmp_path, keys=keys) as inside:
        for path in ("/workbench", "/workbench/x", "/blind/x"):
            assert inside.get(path).headers["location"].startswith("/login?next=")
        assert (
            inside.post("/workbench", data={"suite": "service"})
            .headers["location"]
            .startswith("/login")
        )
        cookies = {}
        for name, key in keys.items():
            answer = inside.post("/login", data={"key": key, "next": "/workbench"})
            cookies[name] = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
        made = inside.post(
            "/workbench", data={"suite": "service", "task": "damaged-lamp"}, headers=cookies["ada"]
        )
        path = made.headers["location"]
        assert path in inside.get("/workbench", headers=cookies["ada"]).text
        assert path not in inside.get("/workbench", headers=cookies["ben"]).text
        assert "$DESKGYM_API_KEY" in snippet_of(inside.get(path, headers=cookies["ada"]).text)
        assert keys["ada"] not in inside.get(path, headers=cookies["ada"]).text


def snippet_of(page: str) -> str:
    return page.split('<pre id="code-curl"')[1]


def test_a_page_says_nothing_that_acts(bench: Inside) -> None:
    path = start(bench, LAMP)
    hostile = "<script>alert(1)</script>\u202eevil\u200b" + "x" * 1_500
    command(bench, path, json.dumps({"tool": "message", "arguments": {"text": hostile}}))
    page = bench.get(path).text
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "U+202E" in page
    assert not re.search(r"\son[a-z]+=|\sstyle=|javascript:", page)


def test_an_oracle_typed_in_by_hand_earns_what_it_must(bench: Inside) -> None:
    """Oracles through the forms: what a form cannot say would show here."""
    for suite, task in find_tasks()[::3]:
        name = f"{suite.name}/{task.name}"
        control = task.control("oracle")
        settings = {key: str(value) for key, value in control.parameters.items()}
        path = start(bench, name, **settings)
        id = path.rpartition("/")[2]
        observation = deskgym.Observation(**bench.get(f"/api/episodes/{id}/observation").json())
        script = control.script(observation)
        action = next(script)
        try:
            while True:
                arguments: Any = action.arguments
                typed = {key: value if isinstance(value, str) else json.dumps(value)
                         for key, value in arguments.items() if value is not None}  # fmt: skip
                assert act(bench, path, action.tool, **typed).status_code == 303
                seen = bench.get(f"/api/episodes/{id}/observation").json()
                if seen["done"]:
                    break
                action = script.send(deskgym.Observation(**seen))
        except StopIteration:
            pass
        score = bench.get(f"/api/episodes/{id}/score").json()
        assert score["reward"] == control.reward_by(score["rubric"]), name


def test_new_episodes_beyond_the_limit_are_told(tmp_path: Path) -> None:
    with Inside(tmp_path, live_max=1) as inside:
        inside.service.episodes.create_many([NewEpisode(LAMP)])
        answer = inside.post("/workbench", data={"suite": "service", "task": "damaged-lamp"})
        assert answer.status_code == 429
