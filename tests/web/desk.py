"""A person at the workbench, by its real forms: what is on the page is filled in and sent."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import httpx

from tests.serve.inside import Inside

LAMP = "service/damaged-lamp"

SOLVED = {
    # Return and replacement in moss, read before, chosen by the customer, reported after:
    # outcome 0.70 + prior evidence 0.20 + supported report 0.10.
    LAMP: (
        ("get_order", {"order_id": "S-410"}),
        ("search_inventory", {}),
        ("propose", {"remedy": "replacement", "order_id": "S-410", "item_id": "S-410-1",
                     "sku": "LAMP-MOSS"}),
        ("create_return", {"order_id": "S-410", "item_id": "S-410-1", "reason": "cracked"}),
        ("create_replacement", {"order_id": "S-410", "item_id": "S-410-1",
                                "replacement_sku": "LAMP-MOSS", "return_id": "RET-000001"}),
        ("report", {"claim": "replacement_created", "order_id": "S-410"}),
        ("close", {}),
    ),
    # The board arrived damaged in time and none is in stock, so what was paid for it goes back:
    # the remedy's check 0.75 + the reply's 0.25.
    "backoffice/damaged-item": (
        ("read_policy", {}),
        ("read_thread", {"thread_id": "T-331"}),
        ("get_order", {"order_id": "1152"}),
        ("check_inventory", {"sku": "BOARD-S", "below_threshold": ""}),
        ("issue_refund", {"order_id": "1152", "amount_cents": "2445", "reason": "damaged"}),
        ("reply_to_thread", {"thread_id": "T-331", "body": "I am sorry about order 1152.\r\n"
                             "We have refunded $24.45 to the card that you paid with."}),
        ("submit", {"summary": "refunded"}),
    ),
    # The customer wants the money back, and the reply names that category and its intent.
    "tickets/easy": (
        ("respond", {"message": "This ticket is about: refund.", "intent": "classify"}),
    ),
}  # fmt: skip


@dataclass
class Form:
    """A form of a page: where it is sent, and what it sends as it stands."""

    action: str
    style: str
    fields: dict[str, str] = field(default_factory=dict)


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._select = self._area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(given["action"], given.get("class", "")))
        name = given.get("name")
        if name is not None and self.forms:
            fields = self.forms[-1].fields
            if tag == "input" and (given.get("type") != "radio" or "checked" in given):
                fields[name] = given.get("value", "")
            elif tag == "select":
                self._select = name
                fields[name] = ""
            elif tag == "textarea":
                self._area = name
                fields[name] = ""
        if tag == "option" and "selected" in given:
            self.forms[-1].fields[self._select] = "selected"

    def handle_data(self, data: str) -> None:
        if self._area:
            self.forms[-1].fields[self._area] += data.removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = ""


def forms(html: str) -> list[Form]:
    """The forms of a page."""
    parser = _Forms()
    parser.feed(html)
    return parser.forms


def form_to(html: str, end: str) -> Form:
    """The form of a page that is sent to a path that ends so; the tool's where there are more."""
    found = [form for form in forms(html) if form.action.partition("?")[0].endswith(end)]
    return next((form for form in found if form.style == "act-form"), found[-1])


def start(inside: Inside, task: str, **settings: str) -> str:
    """Start an episode with the start page's form; the path of its page."""
    suite, _, name = task.partition("/")
    page = inside.get(f"/workbench?suite={suite}&task={name}")
    form = form_to(page.text, "/workbench")
    fields = form.fields | settings
    if fields.get("rubric") == "selected":
        del fields["rubric"]
    made = inside.post(form.action, data=fields)
    assert made.status_code == 303, made.text
    return made.headers["location"]


def act(inside: Inside, path: str, tool: str, **arguments: str) -> httpx.Response:
    """Take an action with the tool's form, as a browser sends it; the answer, not followed."""
    form = form_to(inside.get(f"{path}?tool={quote(tool)}").text, "/steps")
    assert form.fields["tool"] == tool
    for name, value in arguments.items():
        assert f"arg.{name}" in form.fields, f"no field for {name}"
        form.fields[f"arg.{name}"] = value
    return inside.post(form.action, data=form.fields)


def command(inside: Inside, path: str, text: str) -> httpx.Response:
    """Send a raw command."""
    form = form_to(inside.get(f"{path}?raw=1").text, "/steps")
    return inside.post(form.action, data={**form.fields, "command": text})


def reward(page: str) -> str:
    """The reward that an episode's page shows."""
    found = re.search(r'<h2 id="why-title">The reward now: ([^<]+)</h2>', page)
    assert found is not None
    return found[1]


def state(inside: Inside, path: str) -> Any:
    """An episode as the API has it, by the path of its page."""
    return inside.get(f"/api/episodes/{path.rpartition('/')[2]}").json()


def played(inside: Inside) -> str:
    """An episode with a return and a replacement, all but closed."""
    path = start(inside, LAMP)
    for tool, arguments in SOLVED[LAMP][:-1]:
        act(inside, path, tool, **arguments)
    return path


def episodes(inside: Inside) -> list[Any]:
    """Every episode, as the API lists them."""
    return inside.get("/api/episodes", params={"limit": 500}).json()["items"]


def recordings(inside: Inside, path: str) -> list[Any]:
    """The recordings that are kept of an episode, by the path of its page."""
    query = {"episode": path.rpartition("/")[2]}
    return inside.get("/api/recordings", params=query).json()["items"]
