"""Evaluation runs: what agents earned in them, as `deskgym report` says it, with its charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup
from starlette.responses import Response

from deskgym.errors import UsageError
from deskgym.evaluate import EpisodeResult, chart
from deskgym.evaluate.report import AgentReport, report_on
from deskgym.evaluate.results_file import result_of_recording
from deskgym.evaluate.text import Section, sections
from deskgym.runstore import RecordingFilter, RunStore
from deskgym.runstore.evaluation import Evaluation
from deskgym.web.library import ROWS, Row, stored_rows
from deskgym.web.site import Page, Visit

_NOTHING: Final = Markup()
LISTED: Final = 30
"""How many runs a page of the list has."""


@dataclass(frozen=True)
class Report:
    """A run's report.

    Attributes:
        sections: its tables, each with its chart where there is one.
        legend: which colour is whose.
        refused: why there is none; empty where there is one.
        counted: how many recordings it is of.
    """

    sections: tuple[tuple[Section, Markup], ...] = ()
    legend: Markup = _NOTHING
    refused: str = ""
    counted: int = 0


async def evaluations(visit: Visit) -> Response:
    """List the evaluation runs, the latest first."""
    store = visit.service.store.evaluations
    page = await visit.run(store.list, limit=LISTED, page=visit.query("page") or None)
    return visit.render(
        "evaluations.html",
        page=page,
        deeper=bool(visit.query("page")),
        deleted=visit.query("deleted") == "1",
    )


async def evaluation(visit: Visit) -> Response:
    """Show a run's report, and its episodes a page at a time."""
    store, id = visit.service.store, visit.path["id"]
    run = await visit.run(store.evaluations.get, id)
    kept = visit.site.kept
    report = await kept.get(
        "report", (run.id, run.status, run.recordings), lambda: _report(store, run)
    )
    which = RecordingFilter(evaluation=run.id)
    page = await visit.run(
        store.recordings.list, which, limit=ROWS, page=visit.query("page") or None
    )
    rows: list[Row] = await stored_rows(visit, page.items)
    return visit.render(
        "evaluation.html",
        run=run,
        report=report,
        rows=rows,
        next=page.next,
        deeper=bool(visit.query("page")),
    )


def _report(store: RunStore, run: Evaluation) -> Report:
    """The report; made in a thread, from the recordings, each checked whole."""
    which = RecordingFilter(evaluation=run.id)
    try:
        results = with_trials(
            result_of_recording(recording) for _, recording in store.recordings.each(which)
        )
        made = report_on(results)
    except UsageError as error:
        return Report(refused=str(error))
    return _shown(made, len(results))


def with_trials(results: Iterable[EpisodeResult]) -> list[EpisodeResult]:
    """Results whose trials are numbered: a recording does not say which it is of."""
    times: Counter[Any] = Counter()
    found: list[EpisodeResult] = []
    for result in results:
        key = result.key
        found.append(result.model_copy(update={"trial": times[key]}) if times[key] else result)
        times[key] += 1
    return found


def _shown(made: Sequence[AgentReport], counted: int) -> Report:
    charts = {
        "Rewards": chart.rewards(made),
        "pass^k": chart.pass_hats(made),
        "Tasks": chart.tasks(made),
    }
    # A chart escapes every text that it shows.
    drawn = tuple((part, Markup(charts.get(part.title, ""))) for part in sections(made))
    return Report(drawn, Markup(chart.legend(made)), counted=counted)


async def ask_to_delete(visit: Visit) -> Response:
    """Ask whether a run is to be deleted with its recordings."""
    store = visit.service.store.evaluations
    run = await visit.run(store.get, visit.path["id"])
    return visit.render("delete.html", summary=None, evaluation=run)


async def delete(visit: Visit) -> Response:
    """Delete a run with its recordings."""
    await visit.run(visit.service.store.evaluations.delete, visit.path["id"])
    return visit.go("/evaluations?deleted=1")


PAGES = (
    Page("evaluations", "/evaluations", evaluations),
    Page("evaluation", "/evaluations/{id}", evaluation),
    Page("ask_to_delete_evaluation", "/evaluations/{id}/delete", ask_to_delete),
    Page("delete_evaluation", "/evaluations/{id}/delete", delete, method="POST"),
)
