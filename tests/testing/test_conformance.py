import pytest

from deskgym import UnknownName, UsageError, load_suite, suite_names
from deskgym.testing import (
    CHECKS,
    Finding,
    assert_conforms,
    cases,
    check_conformance,
    conformance_test,
)
from tests.testing import mugs

OURS = suite_names()
HERE = [check.name for check in CHECKS if check.name != "other-process"]
ONE_OF_EACH = [f"{name}/{load_suite(name).tasks[0].name}" for name in OURS]

test_every_task_of_ours_conforms = conformance_test(*OURS, seeds=(0,), checks=HERE)
test_a_task_of_each_suite_conforms_in_another_process = conformance_test(
    *ONE_OF_EACH, seeds=(0,), checks=["other-process"]
)
test_every_task_of_ours_conforms_over_many_seeds = pytest.mark.long(
    conformance_test(*OURS, seeds=range(20))
)


def test_a_suite_that_keeps_to_the_contract_has_no_findings() -> None:
    assert check_conformance(mugs.SUITE) == []


def test_a_task_is_checked_by_its_id_or_with_its_suite() -> None:
    assert check_conformance("service/two-half-payments", [0], ["declarations"]) == []
    assert check_conformance((mugs.SUITE, mugs.TASK), [0], ["declarations"]) == []


def test_a_name_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownName, match="no conformance check 'replay'; did you mean 'replays'"):
        check_conformance(mugs.SUITE, checks=["replay"])
    with pytest.raises(UnknownName, match="service/damaged-lamp"):
        check_conformance("service/damaged-lamb")


def test_conformance_without_a_seed_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one seed"):
        check_conformance(mugs.SUITE, seeds=())


def test_the_assertion_lists_every_finding() -> None:
    faulty = mugs.suite(title=" ", question="")
    with pytest.raises(AssertionError) as caught:
        assert_conforms(faulty)
    assert str(caught.value) == (
        "2 findings:\n"
        "  mugs/cracked, the task's title: is empty [declarations]\n"
        "  mugs/cracked, the task's question: is empty [declarations]"
    )


def test_a_finding_names_check_task_seed_place_and_fault() -> None:
    finding = Finding("same-again", "mugs/cracked", 3, "take-back step 1", "it differs")
    assert str(finding) == "mugs/cracked seed 3, take-back step 1: it differs [same-again]"


def test_each_task_stands_with_each_check_for_parametrize() -> None:
    made = cases("service/damaged-lamp", "service/parcel-moving")
    assert len(made) == len(set(made)) == 2 * len(CHECKS)
    assert made[0] == ("service/damaged-lamp", "declarations")
    some = cases("service/damaged-lamp", checks=["replays", "gates"])
    assert some == [("service/damaged-lamp", "replays"), ("service/damaged-lamp", "gates")]


def test_every_check_has_a_name_of_its_own_and_says_what_has_to_be_so() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(check.sentence and check.find.__doc__ for check in CHECKS)


def test_the_others_are_not_run_on_a_fixture_that_does_not_build() -> None:
    def fixture(seed: int, _: object) -> object:
        raise LookupError(f"no rows for seed {seed}")

    findings = check_conformance(mugs.suite(fixture=fixture), [0])
    assert {finding.check for finding in findings} == {"fixtures"}
    assert "LookupError('no rows for seed 0') (at " in findings[0].sentence
