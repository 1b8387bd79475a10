from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

from deskgym import Task, find_tasks, load_suite, suite, suite_names
from deskgym.errors import InvalidDefinition, UnknownName
from deskgym.suite import tasks_in
from tests.stall import STALL

MODULE = """
from deskgym import Task
task = Task("Title", "?", None, (), rank={rank})
"""


def make_package(root: Path, monkeypatch: pytest.MonkeyPatch, **modules: str) -> ModuleType:
    """A package of modules, which can be imported until the test is over."""
    folder = root / "stall_tasks"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(root)
    for name in [name for name in sys.modules if name.split(".")[0] == "stall_tasks"]:
        monkeypatch.delitem(sys.modules, name)
    return __import__("stall_tasks")


class TestTasksInAPackage:
    def test_each_module_is_a_task_named_by_it_in_order_of_rank_then_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        package = make_package(
            tmp_path,
            monkeypatch,
            last_one=MODULE.format(rank=2),
            b=MODULE.format(rank=1),
            a=MODULE.format(rank=1),
        )
        assert [task.name for task in tasks_in(package)] == ["a", "b", "last-one"]

    @pytest.mark.parametrize("text", ["", "task = 1", "from deskgym import Task as task"])
    def test_a_module_without_a_task_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
    ):
        package = make_package(tmp_path, monkeypatch, broken=text)
        with pytest.raises(InvalidDefinition, match=r"stall_tasks\.broken declares no `task`"):
            tasks_in(package)


class TestSuites:
    def test_ours_are_found_by_name(self):
        assert "service" in suite_names()
        assert load_suite("service").name == "service"
        assert load_suite("service") is load_suite("service")

    def test_an_unknown_one_is_named_with_the_nearest(self):
        with pytest.raises(UnknownName, match=r"no suite 'sevice'; did you mean 'service'\?"):
            load_suite("sevice")

    def test_a_task_is_found_with_and_without_its_suites_name(self):
        assert STALL.task("sell-lamps") is STALL.task("stall/sell-lamps") is STALL.tasks[0]
        with pytest.raises(UnknownName, match=r"no task 'sell'.*known: stall/sell-lamps"):
            STALL.task("sell")

    def test_the_first_rubric_is_the_default(self):
        assert STALL.rubric().version == "sales.v2"
        assert STALL.rubric("sales.v1").version == "sales.v1"
        with pytest.raises(UnknownName, match=r"no rubric of stall ''"):
            STALL.rubric("")

    def test_tasks_are_found_by_id_and_by_suite(self):
        names = [task.name for _, task in find_tasks(["service"])]
        assert names == [
            "damaged-lamp", "stop-warehouse-order", "parcel-moving", "two-full-captures",
            "two-half-payments", "cancel-pending", "intercept-in-transit", "refund-duplicate",
            "replace-available", "wait-for-stock", "account-boundary", "split-arrival",
            "refund-already-issued",
        ]  # fmt: skip
        assert [task.name for _, task in find_tasks(["service/parcel-moving", "service"])] == [
            "parcel-moving", *names
        ]  # fmt: skip
        assert set(names) <= {task.name for _, task in find_tasks()}

    @pytest.mark.parametrize("name", ["service/parcel", "other", "other/parcel-moving"])
    def test_what_is_not_there_is_not_found(self, name: str):
        with pytest.raises(UnknownName):
            find_tasks([name])


class TestEntryPoints:
    @pytest.fixture
    def declared(self, monkeypatch: pytest.MonkeyPatch):
        points = [
            EntryPoint("stall", "tests.stall:STALL", suite.ENTRY_POINT_GROUP),
            EntryPoint("service", "tests.stall:STALL", suite.ENTRY_POINT_GROUP),
            EntryPoint("wrong", "tests.stall:open_stall", suite.ENTRY_POINT_GROUP),
            EntryPoint("missing", "tests.stall:NOTHING", suite.ENTRY_POINT_GROUP),
        ]
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
        suite._places.cache_clear()
        load_suite.cache_clear()
        yield
        suite._places.cache_clear()
        load_suite.cache_clear()

    @pytest.mark.usefixtures("declared")
    def test_another_packages_suite_is_found_after_ours(self):
        assert suite_names()[-3:] == ("stall", "wrong", "missing")
        assert load_suite("stall") is STALL
        assert isinstance(find_tasks(["stall"])[0][1], Task)

    @pytest.mark.usefixtures("declared")
    def test_none_takes_the_place_of_ours(self):
        assert load_suite("service") is not STALL

    @pytest.mark.usefixtures("declared")
    @pytest.mark.parametrize("name", ["wrong", "missing"])
    def test_what_is_no_suite_is_named_with_its_declaration(self, name: str):
        with pytest.raises(
            InvalidDefinition, match=rf"the suite '{name}' is declared as tests\.st"
        ):
            load_suite(name)
