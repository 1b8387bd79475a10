"""The Agentic Benchmark Checklist, and how this project stands to each of its items.

The items are those of Zhu et al., "Establishing Best Practices for Building Rigorous Agentic
Benchmarks" (2025, arXiv 2507.02825), in our own short words: T for tasks, O for outcomes, R for
reporting. Evidence is a figure of the audit that was run, a command, or a test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from deskgym.audit.finding import Section

Standing = Literal["met", "partly", "not met", "does not apply", "not run"]

Sections = Mapping[str, Section]


@dataclass(frozen=True)
class Assessment:
    """An item of the checklist and how it stands.

    Attributes:
        code: the item's code.
        item: what it asks for.
        standing: whether it is met.
        evidence: what shows it, or what is lacking.
    """

    code: str
    item: str
    standing: Standing
    evidence: str

    def to_dict(self) -> dict[str, str]:
        """The assessment as JSON."""
        return {
            "code": self.code,
            "item": self.item,
            "standing": self.standing,
            "evidence": self.evidence,
        }


@dataclass(frozen=True)
class _Item:
    code: str
    item: str
    standing: Standing
    evidence: str
    sections: tuple[str, ...] = ()
    """Attacks whose figures are evidence too; a finding of any makes the item not met."""


_NO_JUDGE: Final = "no model judges anything: every reward is SQL over rows or rules over words"
_NO_CODE: Final = "agents hand in no code"

_ITEMS: Final = (
    _Item("T.1", "versions of all tools are specified", "met",
          "requirements-dev.lock; each recording names its format and rubric, each report deskgym"),
    _Item("T.2", "the tools that a task needs can be reached all the time", "met",
          "tools are functions in the agent's own process and need no network"),
    _Item("T.3", "an evaluation ends or says so when a tool cannot be reached", "met",
          "a failing tool is internal_error and the run an error, never a reward "
          "(tests/test_environment.py)"),
    _Item("T.4", "nothing is left over from one run to the next", "met",
          "the same actions give the same bytes again, on another engine and with other episodes "
          "in between", ("conformance",)),
    _Item("T.5", "the agent cannot see the ground truth", "met",
          "answers are the same with the rubric's rows and case taken away",
          ("secrecy", "conformance")),
    _Item("T.6", "the setup does not change over time", "met",
          "a seed fixes every row and the clock; recordings hold digests "
          "(deskgym replay @backoffice)", ("conformance",)),
    _Item("T.7", "the ground truth is verified", "met",
          "a second opinion in plain Python agrees with the rubric on every control",
          ("controls",)),
    _Item("T.8", "each task can be solved", "met", "every oracle earns what it declares",
          ("controls",)),
    _Item("T.9", "an oracle solves every task automatically", "met",
          "deskgym controls; every task declares an oracle that reads what an agent reads",
          ("controls",)),
    _Item("T.10", "nothing can be exploited to pass without solving", "met",
          "no run was paid that the second opinion objects to",
          ("adversaries", "labels", "mutated-oracles", "bounded-search")),
    _Item("O.a.1", "answers that mean the same count the same", "partly",
          "replies are read for facts in many wordings (tests/rubric/test_language.py, "
          "docs/suites/backoffice.md); a wording that no rule knows earns less"),
    _Item("O.a.2", "redundant words do not matter", "met",
          "facts are found in clauses, whatever stands around them "
          "(tests/suites/backoffice/test_backoffice_facts.py)"),
    _Item("O.b.1", "negated words do not count", "met",
          "only asserted clauses count (tests/rubric/test_language.py)"),
    _Item("O.b.2", "listing every answer does not pay", "met",
          "reports-every-claim, repeats-what-it-read and the controls names-everything and "
          "every-keyword", ("adversaries", "controls")),
    _Item("O.b.3", "the truth cannot be guessed", "partly",
          "a fixed guess at a ticket's category (tickets/easy) is right one time in five; all "
          "other tasks ask for ids and amounts of the seed", ("adversaries",)),
    _Item("O.c.1", "a model that judges is shown to be accurate", "does not apply", _NO_JUDGE),
    _Item("O.c.2", "a model that judges resists manipulation", "does not apply", _NO_JUDGE),
    _Item("O.d.1", "unit tests that judge are verified", "does not apply", _NO_CODE),
    _Item("O.d.2", "unit tests that judge are measured", "does not apply", _NO_CODE),
    _Item("O.e.1", "fuzz tests that judge reach edge cases", "does not apply", _NO_CODE),
    _Item("O.e.2", "fuzz tests that judge cover all inputs", "does not apply", _NO_CODE),
    _Item("O.e.3", "fuzz tests that judge use telling inputs", "does not apply", _NO_CODE),
    _Item("O.f.1", "end-to-end tests that judge exercise everything", "does not apply", _NO_CODE),
    _Item("O.f.2", "end-to-end tests that judge are not flaky", "does not apply", _NO_CODE),
    _Item("O.g.1", "every acceptable end state is accepted", "met",
          "alternates earn what they must, and a built-in agent that knows no fixture is paid",
          ("controls", "mutated-oracles")),
    _Item("O.g.2", "states that matter and that do not are both looked at", "met",
          "every change of any table must be one that the task permits (only-task-rows-changed, "
          "writes outside the outcome)", ("adversaries", "mutated-rules")),
    _Item("O.g.3", "no trivial change of state passes", "met",
          "nothing that is required holds untouched", ("labels", "bounded-search")),
    _Item("O.h.1", "the format of an answer is specified", "met",
          "deskgym tools; each suite's instructions say what a reply must name"),
    _Item("O.h.2", "random guessing does not succeed", "met",
          "random-calls and random-garbage", ("adversaries",)),
    _Item("O.i.1", "the measure cannot be gamed", "met",
          "rewards rise only with what the records say, and a forbidden change takes all",
          ("adversaries", "mutated-oracles", "mutated-rules")),
    _Item("R.1", "open source", "met", "MIT; tasks, rubrics, controls and this audit"),
    _Item("R.2", "an open harness", "met", "deskgym run, replay and audit; one environment class"),
    _Item("R.3", "measures against contamination", "partly",
          "seeds give 2**31 worlds of a task, so a run can use seeds that nobody published; no "
          "private tasks are held out"),
    _Item("R.4", "plans to update the tasks", "partly",
          "rubrics are versioned and old ones kept; a task is one file (docs/writing-a-task.md); "
          "no schedule is promised"),
    _Item("R.5", "what is measured and what it stands for is said", "met",
          "deskgym tasks: each task's question; docs/concepts.md"),
    _Item("R.6", "it is said what is evaluated", "met",
          "an agent: a model with whatever runs it (docs/concepts.md)"),
    _Item("R.7", "steps against flaws are described", "met", "docs/audit.md"),
    _Item("R.8", "the effect of flaws that stay is discussed", "met",
          "docs/audit.md, what it cannot prove; docs/suites"),
    _Item("R.9", "the effect of flaws that stay is measured", "partly",
          "figures of every attack here; how often a right reply is read wrongly is measured on "
          "the wordings of the tests only", ("adversaries",)),
    _Item("R.10", "statistical significance is reported", "partly",
          "rewards are exact for a seed; an audit gives the number of runs beside each mean and "
          "no interval"),
    _Item("R.11", "guidance on reading results", "met", "docs/audit.md, docs/concepts.md"),
    _Item("R.12", "baselines that are no AI", "partly",
          "careful and eager, scripted agents that know no fixture; no people were measured",
          ("adversaries",)),
    _Item("R.13", "trivial agents are reported", "met",
          "does-nothing, only-reads, closes-at-once and others, task by task", ("adversaries",)),
)  # fmt: skip


def declared() -> tuple[Assessment, ...]:
    """Each item as it stands where every attack was run and found nothing."""
    return tuple(
        Assessment(item.code, item.item, item.standing,
                   "; ".join((item.evidence, *(f"attack {name}" for name in item.sections))))
        for item in _ITEMS
    )  # fmt: skip


def assess(sections: Sequence[Section]) -> tuple[Assessment, ...]:
    """Each item with its evidence; one whose attack was not run or found something says so."""
    by_name = {section.attack: section for section in sections}
    return tuple(_assessed(item, by_name) for item in _ITEMS)


def _assessed(item: _Item, sections: Sections) -> Assessment:
    run = [sections[name] for name in item.sections if name in sections]
    standing = item.standing
    if item.sections and not run:
        standing = "not run"
    broken = [section for section in run if section.findings]
    if broken:
        standing = "not met"
    figures = [
        f"{section.attack}: {len(section.findings)} findings in {section.trajectories:,} runs"
        for section in run
    ]
    return Assessment(item.code, item.item, standing, "; ".join((item.evidence, *figures)))
