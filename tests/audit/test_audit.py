"""The audit as a whole: its slice over every suite, its report, and how its parts are joined."""

from collections.abc import Generator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from deskgym import Action, Environment, Observation, UnknownName, UsageError, call, load_suite
from deskgym.audit import ATTACKS, Finding, Report, Section, Table, audit, audit_suite, page
from deskgym.audit.finding import ACCEPTED_KEPT, joined
from deskgym.audit.opinion import aftermath_of, objections_to
from deskgym.audit.run import SEEDS_A_PIECE, pieces
from deskgym.audit.zoo.adversary import ZOO, adversaries_of
from deskgym.audit.zoo.hand import Hand
from deskgym.errors import InvalidDefinition
from deskgym.recording import parse
from deskgym.replay import replay
from deskgym.rubric.check import Check
from deskgym.runner import play
from deskgym.suite import suite_names
from tests.testing import mugs

SLICE = ("controls", "labels", "adversaries", "injection", "secrecy")
"""Conformance has tests of its own."""

TWELVE = {
    "does-nothing", "only-reads", "refuses-everything", "escalates", "closes-at-once",
    "reports-every-claim", "repeats-what-it-read", "refunds-everything", "writes-everything",
    "obeys-instructions", "random-calls", "random-garbage",
}  # fmt: skip


@pytest.mark.parametrize("name", ["service", "backoffice", "tickets"])
def test_a_slice_of_the_audit_finds_nothing(name: str) -> None:
    report = audit([name], seeds=[0, 1], attacks=SLICE)
    assert list(map(str, report.findings)) == []
    assert len(report.tasks) == len(load_suite(name).tasks)


@pytest.mark.long
def test_the_audit_of_every_suite_finds_nothing() -> None:
    report = audit(seeds=range(20), jobs=2)
    assert list(map(str, report.findings)) == []
    assert {task.partition("/")[0] for task in report.tasks} == set(suite_names())


def test_the_zoo_has_every_adversary_on_every_suite() -> None:
    assert {item.name for item in ZOO} == TWELVE
    for suite in (load_suite("service"), load_suite("backoffice"), load_suite("tickets")):
        names = [item.name for item in adversaries_of(suite)]
        assert set(names) >= TWELVE
        assert len(set(names)) == len(names)


def test_an_adversary_that_does_right_is_listed_as_such() -> None:
    report = audit(["service/damaged-lamp"], seeds=[0, 2, 4, 6], attacks=["adversaries"])
    accepted = [item for item in report.accepted if item.by == "refunds-everything"]
    assert len(accepted) == ACCEPTED_KEPT
    assert {item.got for item in accepted} == {"its outcome is acceptable"}
    (table, _) = report.sections[0].tables
    (row,) = [item for item in table.rows if item[1] == "refunds-everything"]
    assert dict(zip(table.columns, row, strict=True)) == {
        "task": "service/damaged-lamp", "adversary": "refunds-everything", "runs": 4,
        "best": 1.0, "mean": 1.0, "paid and right": 4, "findings": 0,
    }  # fmt: skip


def test_refunding_everything_is_not_right_where_a_charge_was_due() -> None:
    report = audit(["service/two-half-payments"], seeds=[0], attacks=["adversaries"])
    assert not report.accepted
    (table, _) = report.sections[0].tables
    (row,) = [item for item in table.rows if item[1] == "refunds-everything"]
    assert row[3] < 0


def test_the_agent_that_obeys_everything_is_caught_by_the_attack_and_the_oracle_is_not() -> None:
    report = audit(["backoffice/injected-instruction"], seeds=range(8), attacks=["injection"])
    (table,) = report.sections[0].tables
    rows = {row[1]: row[2:5] for row in table.rows}
    assert rows["serve-customer"] == (1.0, 1.0, 0.0)
    assert rows["careful"] == (1.0, 1.0, 0.0)
    assert rows["eager"][2] == 1.0
    assert rows["obeys-instructions"][2] > 0


def test_the_same_report_with_any_number_of_processes() -> None:
    one, two = (
        audit(["tickets"], seeds=range(30), jobs=jobs, attacks=["controls", "adversaries"])
        for jobs in (1, 2)
    )
    assert [replace(item, cpu_s=0.0) for item in one.sections] == [
        replace(item, cpu_s=0.0) for item in two.sections
    ]


def test_the_work_is_cut_by_seeds_and_by_tasks() -> None:
    seeds = range(2 * SEEDS_A_PIECE + 1)
    work = pieces(["tickets"], seeds, ["controls", "secrecy"])
    controls = [item for item in work if item.attack == "controls" and item.tasks == ("easy",)]
    assert [len(item.seeds) for item in controls] == [SEEDS_A_PIECE, SEEDS_A_PIECE, 1]
    assert [seed for item in controls for seed in item.seeds] == list(seeds)
    secrecy = [item for item in work if item.attack == "secrecy"]
    assert [item.tasks for item in secrecy] == [("easy",), ("medium",), ("hard",)]
    assert all(len(item.seeds) == len(seeds) for item in secrecy)


def test_only_a_task_with_an_attack_has_its_figures() -> None:
    work = pieces(["backoffice"], [0], ["injection"])
    assert [item.tasks for item in work] == [("injected-instruction",)]


def test_what_is_not_there_is_refused_at_once() -> None:
    with pytest.raises(UnknownName, match=r"no attack 'adversary'.*did you mean 'adversaries'"):
        audit(["tickets"], attacks=["adversary"])
    with pytest.raises(UnknownName, match="no suite 'ticket'"):
        audit(["ticket"])
    with pytest.raises(UsageError, match="at least one seed"):
        audit(["tickets"], seeds=[])


# Sections and tables.


def _finding(by: str) -> Finding:
    return Finding("a", by, "s", "t", 0, {}, "r", "this", "that", 1.0)


def test_sections_are_joined() -> None:
    merge: Any = ("key", "sum", "max", "min", "mean")
    columns = ("who", "runs", "best", "worst", "mean")
    rows = ([("x", 1, 0.5, 0.5, 0.5), ("y", 2, 1.0, 1.0, 1.0)], [("x", 3, 0.7, 0.1, 0.1)])
    parts = [
        Section("a", 4, 1.5, (_finding("one"),), tuple(map(_finding, "ppp")), {"runs": 4},
                (Table("t", columns, tuple(item), merge),))
        for item in rows
    ]  # fmt: skip
    whole = joined("a", parts)
    assert (whole.trajectories, whole.cpu_s, dict(whole.counts)) == (8, 3.0, {"runs": 8})
    assert [item.by for item in whole.findings] == ["one", "one"]
    assert len(whole.accepted) == ACCEPTED_KEPT
    # The mean of one run of 0.5 and three of 0.1.
    assert whole.tables[0].rows == (("x", 4, 0.7, 0.1, 0.2), ("y", 2, 1.0, 1.0, 1.0))


def test_tables_without_a_key_are_put_together_row_after_row() -> None:
    parts = [Section("a", tables=(Table("t", ("n",), ((number,),)),)) for number in (1, 1, 2)]
    assert joined("a", parts).tables[0].rows == ((1,), (1,), (2,))


# Findings.


def _with_a_finding() -> Report:
    """A rubric of mugs under which the near miss is paid."""
    generous = replace(mugs.RUBRIC, contradicted_report_points=0, refused_write_points=0)
    return audit_suite(mugs.suite(rubric=generous), seeds=[0], attacks=["controls"])


def test_a_finding_can_be_had_again_as_a_recording() -> None:
    report = _with_a_finding()
    finding = report.findings[0]
    assert finding.by == "only-say-so"
    generous = replace(mugs.RUBRIC, contradicted_report_points=0, refused_write_points=0)
    suite = mugs.suite(rubric=generous)
    made = finding.recording(suite)
    assert made is not None
    assert made.header.agent == "audit controls: only-say-so"
    assert made.reward == finding.reward
    again = replay(parse(made.to_json()), suite=suite)
    assert again.difference is None
    assert replace(finding, seed=None).recording(suite) is None


def test_a_script_that_raises_is_a_finding_and_not_the_end() -> None:
    def breaks(_: Observation) -> Generator[Action, Observation, None]:
        yield call("find_order", order_id="M-1")
        raise KeyError("items")

    suite = replace(mugs.SUITE, adversaries={"breaks": breaks})
    (finding,) = audit_suite(suite, seeds=[3], attacks=["adversaries"]).findings
    assert finding.by == "the attack"
    assert "could not go on with seeds 3 to 3: the task raised KeyError('items')" in finding.got


# The report.


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_page_needs_nothing_else_and_says_what_was_found() -> None:
    written = page(_with_a_finding())
    parsed = _Page()
    parsed.feed(written)
    assert parsed.tags.count("table") >= 3
    assert parsed.links == []
    assert "script" not in parsed.tags
    assert "only-say-so" in written
    assert "it earns -0.38 by mugs.v1" in written


def test_the_page_escapes_what_an_agent_wrote() -> None:
    finding = replace(_finding("<img src=x>"), actions=(call("<b>", text="</pre><script>"),))
    report = replace(_with_a_finding(), sections=(Section("controls", findings=(finding,)),))
    written = page(report)
    assert "<script>" not in written
    assert "<img" not in written


def test_the_checklist_has_each_item_once_and_says_what_was_not_run() -> None:
    report = _with_a_finding()
    codes = [item.code for item in report.checklist]
    assert len(set(codes)) == len(codes)
    assert {code for code in codes if code[0] == "T"} == {f"T.{n}" for n in range(1, 11)}
    assert {code for code in codes if code[0] == "R"} == {f"R.{n}" for n in range(1, 14)}
    assert {code[2] for code in codes if code[0] == "O"} == set("abcdefghi")
    standing = {item.code: item.standing for item in report.checklist}
    assert standing["T.8"] == "not met"  # a control's finding
    assert standing["T.5"] == "not run"
    assert standing["R.1"] == "met"
    assert all(item.evidence for item in report.checklist)


def test_evidence_that_names_a_test_or_a_page_names_one_that_is_there() -> None:
    root = Path(__file__).parents[2]
    for item in _with_a_finding().checklist:
        for word in item.evidence.replace(";", " ").replace(",", " ").replace(")", " ").split():
            name = word.strip("(.")
            if name.startswith(("tests/", "docs/")):
                assert (root / name).exists(), f"{item.code} names {name}"


def test_the_report_as_json_has_every_attack_that_was_run() -> None:
    report = audit(["tickets/easy"], seeds=[0], attacks=["controls", "labels"])
    told = report.to_dict()
    assert [item["attack"] for item in told["sections"]] == ["controls", "labels"]
    assert told["passed"] is True
    assert told["trajectories"] == sum(item["trajectories"] for item in told["sections"])
    assert {item.name for item in ATTACKS} >= set(SLICE)


# A second opinion, and what it is given.


def test_the_aftermath_has_the_rows_before_and_after() -> None:
    suite = load_suite("service")
    with Environment(suite, suite.task("two-full-captures")) as environment:
        play(environment, suite.task("two-full-captures").control("oracle").script)
        run = aftermath_of(environment)
        assert environment.world.snapshot().keys() == run.after.keys()
        for name, rows in environment.world.snapshot().items():
            assert [tuple(row.values()) for row in run.after[name]] == rows
        ((before, after),) = run.changed("refunds")
        assert (before, after["payment_id"], after["amount_cents"]) == ({}, "PAY-B", 4_800)
        assert list(run.changed("payments")) == []
        assert [row["claim"] for row in run.log["env_report"]] == ["refunded"]
        assert objections_to(environment) == ()


def test_a_suite_that_declares_none_has_no_second_opinion() -> None:
    with Environment(mugs.SUITE, mugs.TASK) as environment:
        environment.reset()
        assert objections_to(environment) is None


def test_a_hand_reads_what_the_task_is_about_first() -> None:
    suite = load_suite("backoffice")
    with Environment(suite, suite.task("damaged-item")) as environment:
        first = environment.reset(0)
        hand = Hand(suite.toolbox, first)

        def look(_: Observation) -> Generator[Action, Observation, None]:
            yield from hand.read_all()

        play(environment, look, 0)
    read = [step.action.tool for step in environment.steps if step.result.ok]
    assert read[:4] == ["read_policy", "list_inbox", "read_thread", "get_order"]
    assert not environment.changes()


# A task that is solved before anything is done.


def test_a_task_that_is_solved_untouched_is_refused_when_it_is_first_built() -> None:
    suite = load_suite("backoffice")
    task = suite.task("damaged-item")

    def fixture(seed: int, values: Any) -> Any:
        built = task.fixture(seed, values)
        bound = built.case.required[0].check
        free = replace(bound, check=Check("free", "holds", "SELECT 1 WHERE 1 = 0"))
        required = (replace(built.case.required[0], check=free, points=10_000),)
        return replace(built, case=replace(built.case, required=required))

    solved = replace(task, fixture=fixture)
    with (
        Environment(suite, solved) as environment,
        pytest.raises(InvalidDefinition, match="damaged-item is solved before anything is done"),
    ):
        environment.reset(0)
