"""The package's own tests: every task against every check of the conformance suite."""

from deskgym.testing import conformance_test, gate

test_conforms = conformance_test("returns-desk")


def test_the_gates_pass() -> None:
    for task in ("returns-desk/cracked-mug", "returns-desk/late-return"):
        result = gate(task, seeds=range(5))
        assert result.complete
        assert result.reasons == ()
