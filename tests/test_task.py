from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym import Action, Control, Fixture, Observation, Parameter, Task
from deskgym.errors import InvalidParameter, UnknownName
from deskgym.store import Template
from deskgym.task import FIXTURES_CACHED, SEED_MAX

STOCK = Parameter("stock", 2, 0, 6, "pieces in stock")
TOTAL = Parameter("total_cents", 4_800, 2, 100_000, "the total, in two halves", 2)


def fixture(seed: int, values: Mapping[str, int]) -> Fixture:
    return Fixture(Template({}), "2026-03-01T09:30:00Z", f"{seed} {dict(values)}", None)


def idle(first: Observation) -> Generator[Action, Observation, None]:
    return
    yield


def control(name: str, kind: Any) -> Control:
    return Control(name, kind, "", idle, 0.0)


def task(*controls: Control) -> Task:
    return Task("Task", "?", fixture, controls, (STOCK, TOTAL), name="lamp")


class TestParameters:
    def test_what_is_not_given_has_its_default(self):
        assert task().values({}) == {"stock": 2, "total_cents": 4_800}
        assert task().values({"stock": 0}) == {"stock": 0, "total_cents": 4_800}

    @pytest.mark.parametrize("value", [0, 6])
    def test_its_limits_are_allowed(self, value: int):
        assert STOCK.check(value) == value

    @pytest.mark.parametrize("value", [-1, 7, 2.0, "2", True, None, 10**30])
    def test_what_does_not_fit_is_refused_with_its_limits(self, value: object):
        with pytest.raises(InvalidParameter) as caught:
            STOCK.check(value)
        assert str(caught.value) == f"stock must be a whole number from 0 to 6, not {value!r}"

    def test_a_multiple_is_asked_for(self):
        assert TOTAL.check(100_000) == 100_000
        with pytest.raises(InvalidParameter) as caught:
            TOTAL.check(4_801)
        assert str(caught.value) == (
            "total_cents must be a whole number divisible by 2 from 2 to 100000, not 4801"
        )

    @given(st.one_of(st.integers(), st.floats(), st.text(), st.none(), st.booleans()))
    def test_whatever_is_taken_lies_in_its_limits(self, value: object):
        try:
            taken = TOTAL.check(value)
        except InvalidParameter:
            return
        assert type(taken) is int
        assert taken in range(2, 100_001, 2)

    @pytest.mark.parametrize(
        ("name", "hint"), [("stocks", "; did you mean 'stock'?"), ("weather", "")]
    )
    def test_an_unknown_one_is_named_with_the_known(self, name: str, hint: str):
        with pytest.raises(InvalidParameter) as caught:
            task().values({name: 1})
        assert str(caught.value) == (
            f"lamp has no parameter '{name}'{hint} (its parameters: stock, total_cents)"
        )

    def test_a_task_without_parameters_says_so(self):
        with pytest.raises(InvalidParameter, match=r"no parameter 'x' \(its parameters: none\)"):
            Task("Task", "?", fixture, (), name="lamp").values({"x": 1})


class TestBuild:
    def test_the_same_seed_and_values_give_the_same_fixture(self):
        lamp = task()
        first = lamp.build(7, {"stock": 1, "total_cents": 2})
        assert first.opening == "7 {'stock': 1, 'total_cents': 2}"
        assert lamp.build(7, {"stock": 1, "total_cents": 2}) is first
        assert lamp.build(8, {"stock": 1, "total_cents": 2}) is not first
        assert lamp.build(7, {"stock": 2, "total_cents": 2}) is not first
        assert task().build(7, {"stock": 1, "total_cents": 2}) is not first

    def test_only_the_latest_fixtures_are_kept(self):
        lamp = task()
        first = lamp.build(0, {})
        for seed in range(1, FIXTURES_CACHED):
            lamp.build(seed, {})
        assert lamp.build(0, {}) is first
        for seed in range(1, FIXTURES_CACHED + 1):
            lamp.build(seed, {})
        assert lamp.build(0, {}) is not first

    @pytest.mark.parametrize("seed", [-1, SEED_MAX + 1, 0.0, False, "0", None])
    def test_a_bad_seed_is_refused(self, seed: Any):
        with pytest.raises(InvalidParameter) as caught:
            task().build(seed, {})
        assert str(caught.value) == f"a seed is a whole number from 0 to 2147483647, not {seed!r}"


class TestControls:
    LAMP = task(control("null", "oracle"), control("wait", "null"), control("again", "oracle"))

    def test_a_control_is_found_by_name_before_kind(self):
        assert self.LAMP.control("wait").name == "wait"
        assert self.LAMP.control("null").kind == "oracle"

    def test_a_kind_names_the_first_of_its_kind(self):
        assert self.LAMP.control("oracle").name == "null"

    def test_an_unknown_one_is_named_with_the_nearest(self):
        with pytest.raises(UnknownName, match=r"no control of lamp 'agian'; did you mean 'again'"):
            self.LAMP.control("agian")
