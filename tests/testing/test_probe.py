from typing import Annotated, Literal

from pydantic import Field

from deskgym import Cents, Desk, Id, Result, Toolbox, call
from deskgym.testing.probe import GARBAGE, NO_OBJECTS, Values, wander
from deskgym.testing.subject import subjects
from deskgym.tool import tool
from deskgym.trajectory import Action, Observation
from tests.testing import mugs


@tool("read", codes=("found",))
def typed(
    desk: Desk,
    order_id: Id,
    replacement_sku: Id | None = None,
    claim: Literal["refunded", "cancelled"] = "refunded",
    amount_cents: Cents = 1,
    page: Annotated[int, Field(ge=1)] = 1,
    open_only: bool = False,
    tags: list[str] | None = None,
) -> Result:
    """A tool with an argument of every type.

    Args:
        order_id: an order.
        replacement_sku: a SKU.
        claim: a claim.
        amount_cents: an amount.
        page: a page.
        open_only: a choice.
        tags: words.
    """
    return Result(True, "found", "It.")


def test_values_come_from_actions_and_observations_by_name_last_word_and_type() -> None:
    values = Values([call("find_order", order_id="M-1")])
    values.learn({"items": [{"item_id": "M-1-1", "sku": "MUG-1"}], "open": True, "rate": 0.5})
    assert {item.name: values.of(item) for item in typed.parameters} == {
        "order_id": ["M-1", "M-1-1"],
        "replacement_sku": ["MUG-1"],
        "claim": ["refunded", "cancelled"],
        "amount_cents": [1, 100_000],
        "page": [1],
        "open_only": [True, False],
        "tags": [[]],
    }


def test_an_argument_that_nothing_is_known_of_gets_a_word() -> None:
    assert Values([]).of(typed.parameters[0]) == ["x"]


def test_every_tool_is_probed_at_the_start_and_deep_in_a_run_with_all_garbage() -> None:
    (subject,) = subjects(mugs.SUITE, [0])
    places = {probe.place for probe in subject.probes}
    assert places == {"at the start", "after 4 steps"}
    for tool_ in mugs.SUITE.toolbox.values():
        probed = [probe for probe in subject.probes if probe.action.tool == tool_.name]
        per_place = 2 + len(NO_OBJECTS) + 2 + len(GARBAGE) * len(tool_.parameters)
        assert len(probed) == 2 * per_place
        assert {probe.observation.ok for probe in probed} == {True, False}
        refused = [probe for probe in probed if not probe.observation.ok]
        assert all(before == after for _, _, _, (before, after), _ in refused)


def test_the_wanderer_goes_the_same_way_for_a_seed_and_another_for_another() -> None:
    def ways() -> list[tuple[Action, ...]]:
        (subject,) = subjects(mugs.SUITE, [0, 1])
        wanders = [episode for episode in subject.episodes if episode.run.control is None]
        return [episode.trace.actions for episode in wanders]

    first, second = ways()
    assert [first, second] == ways()
    assert first != second
    assert {name for name, _ in (*first, *second)} == {"find_order", "open_return", "report"}


def test_a_wanderer_with_nothing_but_an_end_does_nothing() -> None:
    script = wander(Toolbox(mugs.close), [], 0)
    assert list(script(Observation(True, "ready", "Hello.", {}, 0, 40))) == []
