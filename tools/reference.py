"""Generated parts of the documents: tools, tasks and rubrics as tables, from the code itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from deskgym.audit.attacks import ATTACKS
from deskgym.audit.checklist import declared
from deskgym.audit.zoo.adversary import ZOO
from deskgym.dispatch import COMMON_CODES
from deskgym.rubric.outcome_rubric import OutcomeRubric
from deskgym.suite import load_suite
from deskgym.suites.service.claims import CLAIMS
from deskgym.suites.service.own import REFUSALS
from deskgym.suites.service.rubric import NEEDS, V2, V3


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines.extend("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)
    return "\n".join(lines)


def tools_of(suite: str) -> str:
    """A suite's tools: kind, arguments, what they do, and their codes."""
    return markdown_table(
        ("tool", "kind", "what it does", "codes"),
        (
            (
                f"`{tool.name}("
                + ", ".join(
                    item.name if item.required else f"{item.name}?" for item in tool.parameters
                )
                + ")`",
                tool.kind,
                tool.description.partition("\n\n")[0].replace("\n", " "),
                ", ".join(f"`{code}`" for code in tool.codes),
            )
            for tool in load_suite(suite).toolbox.values()
        ),
    )


def tasks_of(suite: str) -> str:
    """A suite's tasks with their questions and controls."""
    return markdown_table(
        ("task", "the question it asks", "controls and their rewards"),
        (
            (
                f"`{suite}/{task.name}`",
                task.question,
                "<br>".join(f"{item.title}: {item.reward:.2f}" for item in task.controls),
            )
            for task in load_suite(suite).tasks
        ),
    )


def service_tools() -> str:
    """The service suite's tools."""
    return tools_of("service")


def service_tasks() -> str:
    """The service suite's cases."""
    return tasks_of("service")


def service_refusals() -> str:
    """The sentence that each refusal of the service suite comes with, and the common ones."""
    return markdown_table(
        ("code", "what the agent is told"),
        ((f"`{code}`", sentence) for code, sentence in {**REFUSALS, **COMMON_CODES}.items()),
    )


def service_needs() -> str:
    """What each write needs to have been read before it."""
    reads: dict[str, list[str]] = {}
    for need in NEEDS:
        of = "of that order" if need.scope == "order" else "that listed the SKU"
        reads.setdefault(need.tool, []).append(f"`{need.reads}` {of}")
    return markdown_table(
        ("write", "reads that must come before it"),
        ((f"`{tool}`", " and ".join(needed)) for tool, needed in reads.items()),
    )


def service_claims() -> str:
    """The claims that can be reported."""
    return ", ".join(f"`{claim}`" for claim in CLAIMS)


def service_rubric() -> str:
    """Both versions of the service rubric, as their data has them."""
    return "\n\n".join((_weights(V3), _ceilings(V3), _order((V3, V2))))


def _weights(rubric: OutcomeRubric) -> str:
    return markdown_table(
        ("part", "points"),
        (
            ("outcome", f"{rubric.outcome_points / 10_000:.2f}"),
            ("prior evidence", f"{rubric.evidence_points / 10_000:.2f}"),
            ("supported report", f"{rubric.report_points / 10_000:.2f}"),
            ("each contradicted report", f"-{rubric.contradicted_report_points / 10_000:.2f}"),
            ("each refused write", f"-{rubric.refused_write_points / 10_000:.2f}"),
        ),
    )


def _ceilings(rubric: OutcomeRubric) -> str:
    return markdown_table(
        ("ceiling", "when"),
        ((f"{item.points / 10_000:.2f}", item.when) for item in rubric.ceilings),
    )


def _order(rubrics: Iterable[OutcomeRubric]) -> str:
    order: Callable[[OutcomeRubric], str] = lambda rubric: (  # noqa: E731, a name for two words
        "the lowest ceiling, then the deductions"
        if rubric.deductions_last
        else "the deductions, then the lowest ceiling"
    )
    return markdown_table(
        ("version", "what is applied to the weighted sum"),
        ((f"`{rubric.version}`", order(rubric)) for rubric in rubrics),
    )


def audit_attacks() -> str:
    """What `deskgym audit` tries."""
    return markdown_table(
        ("attack", "what has to hold"), ((f"`{item.name}`", item.sentence) for item in ATTACKS)
    )


def audit_adversaries() -> str:
    """The adversaries that act on every suite."""
    return markdown_table(
        ("adversary", "what it does"), ((f"`{item.name}`", item.title) for item in ZOO)
    )


def audit_checklist() -> str:
    """The items of the Agentic Benchmark Checklist with their evidence."""
    return markdown_table(
        ("item", "what it asks for", "standing", "evidence"),
        ((item.code, item.item, item.standing, item.evidence) for item in declared()),
    )
