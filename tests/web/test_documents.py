"""The documentation in the app: every page, every link, nothing that acts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urldefrag

import pytest

from deskgym.suite import load_suite, suite_names
from deskgym.web import document, manual
from tests.serve.inside import Inside
from tests.web.page import Reading

PAGES = [entry.name for group in manual.contents() for entry in group.entries]


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """One app for all of them: they only read."""
    with Inside(tmp_path_factory.mktemp("inside")) as made:
        yield made


def test_every_document_has_a_page(inside: Inside) -> None:
    docs = Path(__file__).parents[2] / "docs"
    names = {path.relative_to(docs).with_suffix("").as_posix() for path in docs.rglob("*.md")}
    assert names <= set(PAGES)
    index = Reading(inside.get("/docs").text)
    assert {f"/docs/{name}" for name in names} <= set(index.links)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_its_title_and_nothing_that_acts(inside: Inside, name: str) -> None:
    answer = inside.get(f"/docs/{name}")
    assert answer.status_code == 200
    read = Reading(answer.text)
    assert answer.text.count("<h1") == 1
    assert "style" not in read.attributes | read.tags
    assert answer.text.count("<script") == 2  # those of every page, in its head
    assert "docs: generate" not in read.text
    assert all(source.startswith("/") for source in read.sources)


def test_links_between_documents_lead_to_pages_and_their_headings(inside: Inside) -> None:
    anchors: dict[str, set[str]] = {}
    followed = 0
    for name in PAGES:
        for link in Reading(inside.get(f"/docs/{name}").text).links:
            path, anchor = urldefrag(link)
            target = path or f"/docs/{name}"
            if not target.startswith("/docs"):
                continue
            if target not in anchors:
                answer = inside.get(target)
                assert answer.status_code == 200, f"{name} links to {link}"
                anchors[target] = Reading(answer.text).anchors
            assert not anchor or anchor in anchors[target], f"{name} links to {link}"
            followed += 1
    assert followed > 300


@pytest.mark.parametrize("suite_name", suite_names())
def test_an_agents_policy_and_tools_are_those_of_the_suite(inside: Inside, suite_name: str) -> None:
    suite = load_suite(suite_name)
    text = Reading(inside.get(f"/docs/suites/{suite_name}/agent").text).text
    assert " ".join(suite.instructions.split()) in text
    assert len(suite.toolbox) > 0
    for tool in suite.toolbox.values():
        assert " ".join(tool.description.split()) in text
        for code in tool.codes:
            assert code in text
        for item in tool.parameters:
            assert f"{item.name} {'yes' if item.required else 'no'}" in text
            assert item.expectation() in text


def test_the_page_on_rewards_has_each_suites_rules(inside: Inside) -> None:
    text = Reading(inside.get("/docs/reward").text).text
    assert len(manual.REWARD_SECTIONS) == 4
    for told in (
        "the committed writes lie inside no single outcome",
        "each contradicted report -0.30",
        "refunds-follow-policy",
        "ticket-reward.v2",
    ):
        assert told in text


def test_a_suite_of_somebody_else_has_a_page_made_of_what_it_declares(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "names", tuple)
    text = Reading(inside.get("/docs/suites/service").text).text
    assert "Can one resolution be completed without giving both money and merchandise?" in text
    assert "return and replace : +1.00" in text


@pytest.mark.parametrize(
    "name",
    ["nope", "suites/nope", "suites/service/nope", "suites/service/agent/x", "../README", "suites",
     "suites/", "images/nope.svg", "images/../concepts.md", "%2e%2e/README", "concepts.md"],
)  # fmt: skip
def test_what_is_no_document_is_not_found(inside: Inside, name: str) -> None:
    assert inside.get(f"/docs/{name}").status_code == 404


def test_a_picture_is_served_with_its_type_and_without_scripts(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planted.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (tmp_path / "planted.png").write_bytes(b"\x89PNG")
    found = {path.name: path for path in tmp_path.iterdir()}
    monkeypatch.setattr(document, "pictures", lambda: found)
    for name, kind in (("planted.svg", "image/svg+xml"), ("planted.png", "image/png")):
        answer = inside.get(f"/docs/images/{name}")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == kind
        assert "script-src" not in answer.headers["content-security-policy"]
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_every_picture_of_a_document_is_served(inside: Inside) -> None:
    for name in PAGES:
        for source in Reading(inside.get(f"/docs/{name}").text).sources:
            assert inside.get(source).status_code == 200


def test_html_in_a_document_does_not_act(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "# T\n\nA<br>line <b onclick=x>bold</b> & <script>alert(1)</script>\n\n"
        "<script>alert(2)</script>\n\n<div style='x'>block</div>\n\n"
        "[a](javascript:alert(3)) [b](../../etc/passwd) ![c](https://example.test/x.png)\n\n"
        "| a |\n| --- |\n| one<br>two |\n\n```html\n<script>alert(4)</script>\n```\n"
    )
    (tmp_path / "planted.md").write_text(text)
    monkeypatch.setattr(document, "folder", lambda: tmp_path)
    monkeypatch.setattr(document, "names", lambda: ("planted",))
    body = document.document.__wrapped__("planted", "").body
    read = Reading(body)
    assert read.tags == {"p", "br", "a", "img", "div", "table", "thead", "tbody", "tr", "th", "td",
                         "pre", "code"}  # fmt: skip
    assert read.attributes <= {"class", "tabindex", "role", "aria-label", "alt"}
    assert read.links == []
    assert read.sources == []
    assert "<script>alert(4)</script>" in read.text
