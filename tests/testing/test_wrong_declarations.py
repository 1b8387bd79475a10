"""What is said of a suite, task or row that is declared wrongly."""

import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from deskgym import InvalidDefinition, Suite, Task, Template, suite, tasks_in
from tests.testing import mugs


def _load(monkeypatch: pytest.MonkeyPatch, name: str, place: str) -> Suite:
    """Load a suite as if a package declared it so."""
    monkeypatch.setattr(suite, "_places", lambda: {name: place})
    return suite.load_suite.__wrapped__(name)


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("mugz:SUITE", "and there is no module mugz"),
        ("deskgym.suites.mugz:suite", "and there is no module deskgym.suites.mugz"),
        ("tests.testing.mugs:TASK", "which is no Suite"),
        ("tests.testing.mugs:MISSING", "which is no Suite"),
    ],
)
def test_an_entry_point_that_leads_nowhere_is_named(
    monkeypatch: pytest.MonkeyPatch, place: str, sentence: str
) -> None:
    with pytest.raises(InvalidDefinition) as caught:
        _load(monkeypatch, "mugs", place)
    assert str(caught.value) == f"the suite 'mugs' is declared as {place}, {sentence}"


def test_an_entry_point_of_another_name_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _load(monkeypatch, "mugs", "tests.testing.mugs:SUITE") is mugs.SUITE
    with pytest.raises(InvalidDefinition, match="which calls itself 'mugs'"):
        _load(monkeypatch, "cups", "tests.testing.mugs:SUITE")


def test_a_module_that_a_suite_itself_lacks_surfaces_as_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "needy_suite.py").write_text("import a_package_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_package_that_is_not_there"):
        _load(monkeypatch, "needy", "needy_suite:suite")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": "Returns Desk"}, "a suite's name is lower-case words such as returns-desk"),
        ({"rubrics": ()}, "the suite mugs has no rubric"),
        ({"steps_max": 0}, "the suite mugs allows 0 actions"),
        ({"tasks": (replace(mugs.TASK, name=""),)}, "has a task without a name; tasks_in"),
        ({"tasks": (mugs.TASK, mugs.TASK)}, "has more than one task cracked"),
        ({"rubrics": (mugs.RUBRIC, mugs.RUBRIC)}, "has more than one rubric mugs.v1"),
        (
            {"tasks": (replace(mugs.TASK, controls=mugs.TASK.controls[:1] * 2),)},
            "has more than one control of cracked take-back",
        ),
    ],
)
def test_a_suite_that_cannot_work_is_refused(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidDefinition) as caught:
        replace(mugs.SUITE, **changes)  # type: ignore[arg-type]
    assert sentence in str(caught.value)


def _package(monkeypatch: pytest.MonkeyPatch, folder: Path, **modules: str) -> ModuleType:
    """A package of task modules."""
    for name, source in modules.items():
        (folder / f"{name}.py").write_text(source)
    package = ModuleType("their_tasks")
    package.__path__ = [str(folder)]
    monkeypatch.setitem(sys.modules, "their_tasks", package)
    return package


def test_a_task_is_named_by_its_module_and_a_private_module_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = "from tests.testing.mugs import TASK as task\n"
    package = _package(monkeypatch, tmp_path, late_return=source, _shop="")
    assert [task.name for task in tasks_in(package)] == ["late-return"]


def test_a_module_without_a_task_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = _package(monkeypatch, tmp_path, empty="")
    with pytest.raises(InvalidDefinition, match=r"their_tasks\.empty declares no `task`"):
        tasks_in(package)


def test_a_fixture_that_is_none_is_refused() -> None:
    task = Task("A task", "Is it?", lambda *_: None, (), name="broken")  # type: ignore[arg-type]
    with pytest.raises(InvalidDefinition, match="fixture of broken returned a NoneType"):
        task.build(0, {})


# Rows by column name.

REFUND = {"name": "return_window", "value": 30, "unit": "days"}


def test_a_row_by_column_name_is_the_row_in_column_order() -> None:
    named = Template({"policies": [REFUND]})
    assert named.rows == {"policies": (("return_window", 30, "days"),)}
    assert named.id == Template({"policies": [("return_window", 30, "days")]}).id


def test_a_column_that_may_be_null_can_be_left_out() -> None:
    parcel = {
        "id": "SHP-1", "order_id": "M-1", "status": "label_created", "carrier": "Northline",
        "tracking_number": "NL1",
    }  # fmt: skip
    (row,) = Template({"shipments": [parcel]}).rows["shipments"]
    assert row == ("SHP-1", "M-1", "label_created", "Northline", "NL1", None, None, None)


def test_a_row_names_the_columns_that_it_lacks_and_those_that_do_not_exist() -> None:
    with pytest.raises(InvalidDefinition) as caught:
        Template({"policies": [{"name": "return_window", "days": 30, "value": 30}]})
    assert str(caught.value).startswith("policies has no column days and needs unit (a row of it: ")


def test_a_tuple_of_another_width_is_told_the_columns() -> None:
    with pytest.raises(InvalidDefinition, match=r"3 \(name, value, unit\): \('window', 30\)"):
        Template({"policies": [("window", 30)]})
